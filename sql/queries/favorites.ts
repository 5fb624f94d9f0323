import type { Db } from "../db.js";
import { firstRow, hasRows } from "../rows.js";

export type FavoriteTarget = "BOX" | "PARTNER";

export interface Favorite {
  id: string;
  targetType: FavoriteTarget;
  targetId: string;
}

/** Adds a box or partner to a user's favourites, unless it is there; undefined when customers see no such target. */
export const insertFavorite = (db: Db, userId: string, targetType: FavoriteTarget, targetId: string) =>
  firstRow(db<{ id: string; added: boolean }[]>`
    with target as (
      select b.id as box_id, null::uuid as partner_id
      from boxes b
      join partners seller on seller.id = b.partner_id
      where ${targetType} = 'BOX' and b.id = ${targetId}::uuid and box_is_visible(b, seller)
      union all
      select null, p.id
      from partners p
      where ${targetType} = 'PARTNER' and p.id = ${targetId}::uuid and p.activated_at is not null
    ), added as (
      insert into favorites (user_id, box_id, partner_id)
      select ${userId}::uuid, box_id, partner_id from target
      on conflict (user_id, coalesce(box_id, partner_id)) do update set user_id = excluded.user_id
      -- xmax is 0 for a new row; the conflict has locked an existing one
      returning id, xmax::text = '0' as added
    )
    select id, coalesce(added, false) as added from added`);

/** Lists a user's favourites, newest first, after the one with id `after`. */
export const listFavorites = (db: Db, userId: string, after: string | null, limit: number) =>
  db<Favorite[]>`
    select f.id, place.type as target_type, place.id as target_id
    from favorites f
    cross join lateral (
      select case when f.box_id is null then 'PARTNER' else 'BOX' end as type, coalesce(f.box_id, f.partner_id, f.id) as id
    ) as place
    where f.user_id = ${userId}::uuid and (${after}::uuid is null or f.id < ${after}::uuid)
    order by f.id desc
    limit ${limit}`;

/** Deletes a user's favourite; false when the user has no such favourite. */
export const deleteFavorite = (db: Db, userId: string, id: string) =>
  hasRows(db`delete from favorites where id = ${id}::uuid and user_id = ${userId}::uuid`);
