import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { firstRow, onlyRow } from "../rows.js";

/** The endpoint's columns for sending a message outside of the log. */
export interface WebhookTarget {
  url: string;
  secret: string;
  /** Null once it no longer signs. */
  oldSecret: string | null;
}

/** Finds an owner's endpoint with its encrypted secrets; `owner` is a partner, or null for the platform. */
export const findWebhookTarget = (db: Db, id: string, owner: string | null) =>
  firstRow(db<WebhookTarget[]>`
    select url, secret, case when old_secret_until > now() then old_secret end as old_secret
    from webhook_endpoints
    where id = ${id}::uuid and partner_id is not distinct from ${owner}::uuid`);

/** The events to resend. */
export interface ResentRange {
  since: Date;
  before: Date;
  /** Only those at later positions. */
  after: number;
}

/**
 * Resends the events of a time to an endpoint, including those that it missed while it was stopped: the first `most` of
 * them, in the order of the log. Returns their number, and the position of the last; null when there is none.
 */
export const resendWebhooks = (db: Db, endpointId: string, { since, before, after }: ResentRange, most: number) =>
  onlyRow(db<{ events: number; last: number | null }[]>`
    select coalesce(resent, 0) as events, last_position as last
    from resend_webhooks(${endpointId}::uuid, ${since}::timestamptz, ${before}::timestamptz, ${after}::bigint, ${most}::integer)`);

/** An endpoint as operators see it, without the parts of its address that may be secret. */
export interface WatchedEndpoint {
  id: string;
  /** Null for the platform's. */
  partnerId: string | null;
  partner: string | null;
  url: string;
  types: string[] | null;
  stoppedAt: Date | null;
  stoppedWhy: Enum<"webhookStop"> | null;
  /** Consecutive failures. */
  failures: number;
  failingSince: Date | null;
  pausedUntil: Date | null;
  /** Failed deliveries that wait for a retry, at most 1,000. */
  pending: number;
  /** Time of the oldest pending event; null when there is none. */
  oldestAt: Date | null;
}

/** The operators' filter of endpoints. */
export interface WatchedFilter {
  /** Only endpoints that fail, or were stopped for failing. */
  failing: boolean;
  /** Only this one. */
  id: string | null;
}

/** Lists endpoints of all owners, newest first, after the one with id `after`. */
export const listWatchedEndpoints = (db: Db, { failing, id }: WatchedFilter, after: string | null, limit: number) =>
  db<WatchedEndpoint[]>`
    with page as (
      select w.id, w.partner_id, w.url, w.types, w.position, w.stopped_at, w.stopped_why, w.failures, w.failing_since, w.paused_until,
             -- one without a job and without a run has all its events, however old its position is
             w.stopped_at is null and (w.job_id is not null or w.claim is not null) as is_behind
      from webhook_endpoints w
      where (${after}::uuid is null or w.id < ${after}::uuid) and (${id}::uuid is null or w.id = ${id}::uuid)
        and (not ${failing}::boolean or w.failures > 0 or w.stopped_why in ('GONE', 'FAILING'))
      order by w.id desc
      limit ${limit}
    )
    select
      w.id, w.partner_id, p.name as partner, w.url, w.types, w.stopped_at, w.stopped_why, w.failures, w.failing_since,
      case when w.paused_until > now() then w.paused_until end as paused_until,
      later.pending,
      least(later.oldest, case when w.is_behind then webhook_backlog_at(w.partner_id, w.types, w.position) end)::timestamptz
        as oldest_at
    from page w
    cross join lateral (
      select count(*) as pending, min(at) as oldest
      from (
        select d.at from webhook_deliveries d
        where d.endpoint_id = w.id and d.next_attempt_at is not null
        order by d.position
        limit 1000
      ) as sent_later
    ) as later
    left join partners p on p.id = w.partner_id
    order by w.id desc`;
