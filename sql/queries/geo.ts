import { z } from "zod";
import type { Db } from "../db.js";
import { hasRows } from "../rows.js";
import type { Circle } from "./offers.js";

/** A row of `partners_near` (sql/functions/geography.sql); the distance is great-circle, in metres. */
const NearbyPartner = z.object({
  partnerId: z.string(),
  latitude: z.number(),
  longitude: z.number(),
  distance: z.number(),
});

export type NearbyPartner = z.output<typeof NearbyPartner>;

type Nullable<T> = { [K in keyof T]: T[K] | null };

/** Lists active partners within a circle, nearest first, after the partner `after`. */
export const listPartnersNear = async (
  db: Db,
  { latitude, longitude, radius }: Circle,
  after: { distance: number; id: string } | null,
  limit: number,
): Promise<NearbyPartner[]> =>
  z.array(NearbyPartner).parse(
    await db<Nullable<NearbyPartner>[]>`
      select near.partner_id, near.latitude, near.longitude, near.distance
      from partners_near(
        ${latitude}::double precision, ${longitude}::double precision, ${radius}::double precision,
        ${after?.distance ?? null}::double precision, ${after?.id ?? null}::uuid, ${limit}::integer
      ) as near
      order by near.distance, near.partner_id`,
  );

/** Updates a partner's coordinates, with an audit record; false when there is no such partner. `actorId` is null for a service key. */
export const updatePartnerLocation = (
  db: Db,
  partnerId: string,
  latitude: number,
  longitude: number,
  actorId: string | null,
) =>
  hasRows(db`
    with moved as (
      update partners
      set latitude = ${latitude}::double precision, longitude = ${longitude}::double precision,
          address_distance = null, updated_at = now()
      where id = ${partnerId}::uuid
      returning id
    )
    insert into audit_events (actor_id, action, subject_id, details)
    select ${actorId}::uuid, 'PARTNER_LOCATION', moved.id,
           jsonb_build_object('latitude', ${latitude}::double precision, 'longitude', ${longitude}::double precision)
    from moved`);
