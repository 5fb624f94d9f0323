import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";

export type GeocodeStatus = Enum<"geocodeStatus">;

/** For so long nobody asks again for an address after the provider gave no answer. */
export const FAILURE_SECONDS = 30;

export interface Geocode {
  id: string;
  address: string;
  status: GeocodeStatus;
  latitude: number | null;
  longitude: number | null;
  /** Whether the answer may be used still. */
  fresh: boolean;
  /** Whether the provider gave no answer, and is to be left alone for a while. */
  failed: boolean;
}

/** Finds what is known of an address; undefined when nobody has asked for it. */
export const findGeocode = async (db: Db, addressKey: string) =>
  (
    await db<Geocode[]>`
      select id, address, status, latitude, longitude, coalesce(expires_at > now(), false) as fresh,
             status = 'FAILED' and asked_at > now() - make_interval(secs => ${FAILURE_SECONDS}::double precision) as failed
      from geocodes
      where address_key = ${addressKey}`
  )[0];

/** Finds what is known of an address by the id of its row. */
export const findGeocodeById = async (db: Db, id: string) =>
  (
    await db<Geocode[]>`
      select id, address, status, latitude, longitude, coalesce(expires_at > now(), false) as fresh,
             status = 'FAILED' and asked_at > now() - make_interval(secs => ${FAILURE_SECONDS}::double precision) as failed
      from geocodes
      where id = ${id}::uuid`
  )[0];

/**
 * Asks for an address anew, unless there is an answer, none was given lately or someone has just asked: then nothing is
 * answered, otherwise the row's id. Whoever asked long ago without an answer, and has no job any more that asks, has been
 * forgotten.
 */
export async function requestGeocode(db: Db, addressKey: string, address: string): Promise<string | undefined> {
  const [row] = await db<{ id: string }[]>`
    insert into geocodes as known (address_key, address)
    values (${addressKey}, ${address})
    on conflict (address_key) do update set
      status = 'ASKED', asked_at = now(), expires_at = null, latitude = null, longitude = null
    where known.expires_at <= now()
       or (known.status = 'FAILED' and known.asked_at <= now() - make_interval(secs => ${FAILURE_SECONDS}::double precision))
       or (
         known.status = 'ASKED' and known.asked_at < now() - interval '1 minute'
         and not exists (select from open_jobs j where j.id = known.job_id)
       )
    returning id`;
  return row?.id;
}

/** Notes which job asks for an address. */
export const updateGeocodeJob = (db: Db, id: string, jobId: string) =>
  db`update geocodes set job_id = ${jobId}::bigint where id = ${id}::uuid`;

/** Counts the addresses that wait for a job of their own, up to `limit`. */
export async function countWaitingGeocodes(db: Db, limit: number): Promise<number> {
  const waiting = await db`
    select
    from geocodes g
    join open_jobs j on j.id = g.job_id
    where g.status = 'ASKED'
    limit ${limit}`;
  return waiting.count;
}

/** Takes the right to call the provider for an address, for `seconds`; false while another has it, or when there is an answer. */
export async function claimGeocode(db: Db, id: string, seconds: number): Promise<boolean> {
  const { count } = await db`
    update geocodes set claimed_until = now() + make_interval(secs => ${seconds}::double precision)
    where id = ${id}::uuid and (claimed_until is null or claimed_until < now())
      and (expires_at is null or expires_at <= now())`;
  return count === 1;
}

/** Takes the next turn at the provider, with `perSecond` turns a second for all processes; answers how many milliseconds away it is. */
export async function claimGeocoderSlot(db: Db, perSecond: number): Promise<number> {
  const [row] = await db<{ ms: number | null }[]>`
    with taken as (
      update geocoder_pace
      set next_at = greatest(next_at, now()) + make_interval(secs => 1 / ${perSecond}::double precision)
      returning next_at - make_interval(secs => 1 / ${perSecond}::double precision) as turn
    )
    select (extract(epoch from turn - now()) * 1000)::double precision as ms from taken`;
  return Math.max(row?.ms ?? 0, 0);
}

/** Keeps the provider's answer for `days`; null: it knows no such place. */
export const updateGeocodeAnswered = (
  db: Db,
  id: string,
  place: { latitude: number; longitude: number } | null,
  days: number,
) =>
  db`
    update geocodes
    set status = ${place ? "FOUND" : "NOT_FOUND"}::geocode_status, latitude = ${place?.latitude ?? null}::double precision,
        longitude = ${place?.longitude ?? null}::double precision, claimed_until = null,
        expires_at = now() + make_interval(days => ${days}::integer)
    where id = ${id}::uuid`;

/** Notes that the provider, having been asked just now, gave no answer. */
export const updateGeocodeFailed = (db: Db, id: string) =>
  db`
    update geocodes
    set status = 'FAILED', asked_at = now(), latitude = null, longitude = null, claimed_until = null, expires_at = null
    where id = ${id}::uuid`;

/** Finds the address that a partner's coordinates are to be checked with. */
export async function findPartnerAddress(db: Db, partnerId: string): Promise<string | undefined> {
  const [row] = await db<{ address: string }[]>`select address from partners where id = ${partnerId}::uuid`;
  return row?.address;
}

/** Notes how far a partner's coordinates are from where its address, which must be the same still, was found. */
export const updateAddressDistance = (
  db: Db,
  partnerId: string,
  address: string,
  place: { latitude: number; longitude: number } | null,
) =>
  db`
    update partners
    set address_distance = case when ${place !== null}::boolean then great_circle(
      latitude, longitude, ${place?.latitude ?? null}::double precision, ${place?.longitude ?? null}::double precision
    ) end
    where id = ${partnerId}::uuid and address = ${address}`;

/** Forgets up to `limit` addresses whose answer is of no use any more; answers how many. */
export async function deleteOldGeocodes(db: Db, limit: number): Promise<number> {
  const { count } = await db`
    delete from geocodes
    where id in (
      select id from geocodes
      where asked_at < now() - interval '7 days' and (expires_at is null or expires_at < now())
      order by asked_at
      limit ${limit}
    )`;
  return count;
}
