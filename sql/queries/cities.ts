import type { Db } from "../db.js";
import { countRows } from "../rows.js";

export interface City {
  id: string;
  name: string;
  timezone: string;
}

/** Lists the cities that an admin has named or where a partner is active, by id, after the one with id `after`. */
export const listCities = (db: Db, after: string | null, limit: number) =>
  db<City[]>`
    select c.id, c.name, c.timezone
    from cities c
    left join lateral (
      -- in the order of the index, so that it reads one partner per city
      select p.id from partners p where p.city_id = c.id and p.status = 'ACTIVE' order by p.id limit 1
    ) as active on true
    where (${after}::text is null or c.id > ${after}::text) and (c.named_at is not null or active.id is not null)
    order by c.id
    limit ${limit}`;

/** Sets a city's name and zone, with an audit record; inserts a city where no partner has registered. */
export const upsertCity = (db: Db, { id, name, timezone }: City, actorId: string) =>
  db`
    with named as (
      insert into cities (id, name, timezone, named_at)
      values (${id}, ${name}, ${timezone}, now())
      on conflict (id) do update set name = excluded.name, timezone = excluded.timezone, named_at = excluded.named_at
      returning id, name, timezone
    )
    insert into audit_events (actor_id, action, details)
    select ${actorId}::uuid, 'CITY_NAMED', jsonb_build_object('id', id, 'name', name, 'timezone', timezone)
    from named`;

/** Deletes up to `limit` cities that are a day old, that no admin has named and where no partner is; returns their number. */
export const deleteUnusedCities = (db: Db, limit: number) =>
  countRows(db`
    delete from cities
    where id in (
      select c.id from cities c
      where c.named_at is null and c.created_at < now() - interval '1 day'
        and not exists (select from partners p where p.city_id = c.id)
      limit ${limit}::integer
      for update of c skip locked
    )`);
