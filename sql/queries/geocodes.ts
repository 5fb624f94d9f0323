import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { countRows, firstRow, hasRows } from "../rows.js";

/** How long the provider is not called again for an address after a failure. */
export const FAILURE_SECONDS = 30;

export interface Geocode {
  id: string;
  address: string;
  status: Enum<"geocodeStatus">;
  latitude: number | null;
  longitude: number | null;
  /** Whether the result has not expired. */
  fresh: boolean;
  /** Whether a call failed in the last `FAILURE_SECONDS`. */
  failed: boolean;
}

/** Finds an address; undefined when it was never requested. */
export const findGeocode = (db: Db, addressKey: string) =>
  firstRow(db<Geocode[]>`
    select id, address, status, latitude, longitude, coalesce(expires_at > now(), false) as fresh,
           status = 'FAILED' and asked_at > now() - make_interval(secs => ${FAILURE_SECONDS}::double precision) as failed
    from geocodes
    where address_key = ${addressKey}`);

/** Finds an address by id. */
export const findGeocodeById = (db: Db, id: string) =>
  firstRow(db<Geocode[]>`
    select id, address, status, latitude, longitude, coalesce(expires_at > now(), false) as fresh,
           status = 'FAILED' and asked_at > now() - make_interval(secs => ${FAILURE_SECONDS}::double precision) as failed
    from geocodes
    where id = ${id}::uuid`);

/**
 * Marks an address ASKED and returns its id, for a new job; undefined when it needs none: it has a fresh result, failed within
 * `FAILURE_SECONDS` or has been ASKED already. An ASKED address without an open job after a minute counts as abandoned.
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

/** Records the job of an address. */
export const updateGeocodeJob = (db: Db, id: string, jobId: string) =>
  db`update geocodes set job_id = ${jobId}::bigint where id = ${id}::uuid`;

/** Counts the addresses that wait for their job, up to `limit`. */
export const countWaitingGeocodes = (db: Db, limit: number) =>
  countRows(db`
    select
    from geocodes g
    join open_jobs j on j.id = g.job_id
    where g.status = 'ASKED'
    limit ${limit}`);

/** Locks the list of addresses that wait until the transaction ends: none is added by another. */
export const lockWaitingGeocodes = (tx: Db) => tx`select from pg_advisory_xact_lock(hashtextextended('geocodes', 0))`;

/** Counts the addresses that wait and come before a new one of this priority, up to `limit`. */
export const countGeocodesAhead = (db: Db, priority: number, limit: number) =>
  countRows(db`
    select
    from geocodes g
    join open_jobs j on j.id = g.job_id
    where g.status = 'ASKED' and j.priority <= ${priority}::integer
    limit ${limit}`);

/** The key of a user's open jobs. */
export const geocodesOf = (userId: string): string => `geocodes of ${userId}`;

/** Counts the lookups of a user that wait for the provider. */
export const countGeocodesOf = (db: Db, userId: string) =>
  countRows(db`select from open_jobs where queue = 'geocode' and key = ${geocodesOf(userId)}`);

/** Claims the call of the provider for an address, for `seconds`; false while another worker has the claim, or with a fresh result. */
export const claimGeocode = (db: Db, id: string, seconds: number) =>
  hasRows(db`
    update geocodes set claimed_until = now() + make_interval(secs => ${seconds}::double precision)
    where id = ${id}::uuid and (claimed_until is null or claimed_until < now())
      and (expires_at is null or expires_at <= now())`);

/** Claims the next slot for a call of the provider, of `perSecond` for all processes; returns the milliseconds until then. */
export async function claimGeocoderSlot(db: Db, perSecond: number): Promise<number> {
  const [row] = await db<{ ms: number | null }[]>`
    with claimed as (
      update geocoder_pace
      set next_at = greatest(next_at, now()) + make_interval(secs => 1 / ${perSecond}::double precision)
      returning next_at - make_interval(secs => 1 / ${perSecond}::double precision) as slot
    )
    select (extract(epoch from slot - now()) * 1000)::double precision as ms from claimed`;
  return Math.max(row?.ms ?? 0, 0);
}

/** Stores the provider's result for `days`; null: it does not know the address. */
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

/** Records that a call of the provider failed just now. */
export const updateGeocodeFailed = (db: Db, id: string) =>
  db`
    update geocodes
    set status = 'FAILED', asked_at = now(), latitude = null, longitude = null, claimed_until = null, expires_at = null
    where id = ${id}::uuid`;

/** Finds a partner's address, to compare with its coordinates. */
export async function findPartnerAddress(db: Db, partnerId: string): Promise<string | undefined> {
  const [row] = await db<{ address: string }[]>`select address from partners where id = ${partnerId}::uuid`;
  return row?.address;
}

/** Stores the distance from a partner's coordinates to where its address was found (null: not found); false when the address has changed. */
export const updateAddressDistance = (
  db: Db,
  partnerId: string,
  address: string,
  { latitude, longitude }: Pick<Geocode, "latitude" | "longitude">,
) =>
  hasRows(db`
    update partners
    set address_distance = case when ${latitude !== null}::boolean then great_circle(
      latitude, longitude, ${latitude}::double precision, ${longitude}::double precision
    ) end
    where id = ${partnerId}::uuid and address = ${address}`);

/** Stages the check of a partner's address, unless one is open, which will read the present address. */
export const stageAddressCheck = (tx: Db, partnerId: string, requestId: string) =>
  tx<{ id: string | null }[]>`
    select stage_job(
      'address-checks', jsonb_build_object('partnerId', ${partnerId}::uuid), ${requestId}::text, now(), ${partnerId}::text
    )::text as id
    where not exists (select from open_jobs where queue = 'address-checks' and key = ${partnerId}::text)`;

/** Deletes up to `limit` addresses without a fresh result that were requested a week ago; returns their number. */
export const deleteOldGeocodes = (db: Db, limit: number) =>
  countRows(db`
    delete from geocodes
    where id = any (array(
      select id from geocodes
      where asked_at < now() - interval '7 days' and (expires_at is null or expires_at < now())
      order by asked_at
      limit ${limit}
    ))`);
