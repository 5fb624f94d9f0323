import type { Db } from "../db.js";
import { firstRow, onlyRow, onlyValue } from "../rows.js";

/** How long events are kept. */
export const EVENT_DAYS = 30;

/** An event of the log. */
export interface EventRow {
  position: number;
  id: string;
  /** A later version's type may be unknown to this code. */
  type: string;
  version: number;
  /** The partner that the event belongs to; null for the platform's own. */
  partnerId: string | null;
  at: Date;
  data: unknown;
}

/** Numbers up to `limit` new events, and signals readers; returns their number. */
export const numberEvents = (db: Db, limit: number) =>
  onlyValue(db<{ count: number }[]>`select coalesce(number_events(${limit}::integer)::integer, 0) as count`);

/** Drops the days of the log that are older than EVENT_DAYS; returns their number. Rejects when readers hold locks on them. */
export const dropOldEvents = (db: Db) =>
  onlyValue(db<{ count: number }[]>`select coalesce(drop_old_events(${EVENT_DAYS}::integer)::integer, 0) as count`);

/** Finds the last position of the log, and the last that was dropped. Each is 0 when there is none. */
export const findLogEnds = (db: Db) =>
  onlyRow(db<{ last: number; dropped: number }[]>`
    select last_position as last, dropped_position as dropped from event_log`);

/** A part of the log: after one position, up to and including another. */
export interface LogRange {
  after: number;
  until: number;
}

/** Lists events of the range, oldest first: of all partners and the platform. `types` is null for all types. */
export const listEvents = (db: Db, { after, until }: LogRange, types: readonly string[] | null, limit: number) =>
  db<EventRow[]>`
    select position, id, type, version, partner_id, at, data
    from events
    where position > ${after}::bigint and position <= ${until}::bigint
      and (${types && [...types]}::text[] is null or type = any (${types && [...types]}::text[]))
    order by position
    limit ${limit}`;

/** An event of a partner. */
interface PartnersEventRow extends EventRow {
  partnerId: string;
}

/** As `listEvents`, of one partner. */
export const listEventsOfPartner = (
  db: Db,
  partnerId: string,
  { after, until }: LogRange,
  types: readonly string[] | null,
  limit: number,
) =>
  db<PartnersEventRow[]>`
    select position, id, type, version, partner_id, at, data
    from events
    where partner_id = ${partnerId}::uuid and position > ${after}::bigint and position <= ${until}::bigint
      and (${types && [...types]}::text[] is null or type = any (${types && [...types]}::text[]))
    order by position
    limit ${limit}`;

/** Finds the position of the `count`th event of the range; undefined when there are fewer. */
export const findEventAt = (db: Db, { after, until }: LogRange, count: number) =>
  firstRow(db<{ position: number }[]>`
    select position
    from events
    where position > ${after}::bigint and position <= ${until}::bigint
    order by position
    offset ${count - 1}::integer
    limit 1`);

/** As `findEventAt`, of one partner's events. */
export const findPartnersEventAt = (db: Db, partnerId: string, { after, until }: LogRange, count: number) =>
  firstRow(db<{ position: number }[]>`
    select position
    from events
    where partner_id = ${partnerId}::uuid and position > ${after}::bigint and position <= ${until}::bigint
    order by position
    offset ${count - 1}::integer
    limit 1`);

/** Reads the age in seconds of the oldest event without a position; 0 when there is none. */
export const findEventLag = async (db: Db): Promise<number> =>
  (
    await firstRow(db<{ seconds: number }[]>`
      select coalesce(extract(epoch from now() - at), 0)::double precision as seconds
      from new_events
      order by written
      limit 1`)
  )?.seconds ?? 0;
