import type { Enum } from "../../lib/domain/enums.js";
import { decryptEnvelope } from "../../lib/security/envelope.js";
import type { Db } from "../db.js";
import { countRows, firstRow, hasRows, onlyValue } from "../rows.js";

/** Duration of a run's claim on an endpoint: longer than a call takes. */
const CLAIM_SECONDS = 60;

export interface NewWebhookEndpoint {
  id: string;
  /** Null for the events of all partners and of the platform. */
  partnerId: string | null;
  /** The service key that creates it; null for a user. */
  apiKeyId: string | null;
  url: string;
  description: string | null;
  /** Null: all. */
  types: string[] | null;
  /** An envelope for the endpoint's id. */
  secret: string;
}

/** Returns an id for a new endpoint, before the insert, because its secret is encrypted with the id as context. */
export async function newWebhookEndpointId(db: Db): Promise<string> {
  const [row] = await db<{ id: string | null }[]>`select new_id()::uuid as id`;
  if (!row?.id) throw new Error("no id was made");
  return row.id;
}

/** The context of an endpoint's secrets, which are envelopes. */
export const webhookSecretContext = (id: string) => `webhook ${id}`;

/** Decrypts the secrets of an endpoint that sign now, the newest first. */
export const decryptWebhookSecrets = (
  id: string,
  { secret, oldSecret }: { secret: string; oldSecret: string | null },
) =>
  [secret, oldSecret]
    .filter((envelope) => envelope !== null)
    .map((envelope) => decryptEnvelope(envelope, webhookSecretContext(id)));

/** Inserts an endpoint, which receives events from now on. */
export const insertWebhookEndpoint = (db: Db, endpoint: NewWebhookEndpoint) =>
  db`
    insert into webhook_endpoints (id, partner_id, api_key_id, url, description, types, secret, position)
    select ${endpoint.id}::uuid, ${endpoint.partnerId}::uuid, ${endpoint.apiKeyId}::uuid, ${endpoint.url}, ${endpoint.description},
           ${endpoint.types}::text[], ${endpoint.secret}, last_position
    from event_log`;

/** The columns of an endpoint that a run needs. */
export interface ClaimedEndpoint {
  partnerId: string | null;
  url: string;
  secret: string;
  /** Null when it signs no more. */
  oldSecret: string | null;
  failures: number;
  /** Null without failures. */
  isPaused: boolean | null;
}

/**
 * Claims an endpoint for a run, or renews its claim; undefined when another run has it, or it is stopped. An event from now
 * on schedules another job.
 */
export const claimWebhookEndpoint = (db: Db, id: string, run: string) =>
  firstRow(db<ClaimedEndpoint[]>`
    update webhook_endpoints
    set job_id = case when claim = ${run}::uuid then job_id end,
        claim = ${run}::uuid, claimed_until = now() + make_interval(secs => ${CLAIM_SECONDS}::integer)
    where id = ${id}::uuid and stopped_at is null and (claim is null or claim = ${run}::uuid or claimed_until < now())
    returning partner_id, url, secret, case when old_secret_until > now() then old_secret end as old_secret, failures,
              paused_until > now() as is_paused`);

/** Finds the end of another run's claim on an endpoint; undefined when the endpoint does not exist or is stopped. */
export const findWebhookClaim = (db: Db, id: string) =>
  firstRow(db<{ until: Date }[]>`
    select coalesce(claimed_until, now()) as until from webhook_endpoints where id = ${id}::uuid and stopped_at is null`);

export interface WebhookRow {
  position: number;
  eventId: string;
  type: string;
  version: number;
  partnerId: string | null;
  at: Date;
  data: unknown;
  attempts: number;
}

/** Takes the next event of an endpoint that the caller has claimed; undefined when none is due. */
export async function takeNextWebhook(db: Db, endpointId: string): Promise<WebhookRow | undefined> {
  const [next] = await db<{ position: number | null }[]>`select next_webhook(${endpointId}::uuid)::bigint as position`;
  const position = next?.position ?? null;
  if (position === null) return undefined;
  return firstRow(db<WebhookRow[]>`
    select position, event_id, type, version, partner_id, at, data, attempts
    from webhook_deliveries
    where endpoint_id = ${endpointId}::uuid and position = ${position}::bigint`);
}

/** An attempt to send an event. */
export interface WebhookAttempt {
  endpointId: string;
  position: number;
  accepted: boolean;
  status: number | null;
  answer: string;
  ms: number;
  /** Seconds until the next attempt; null for none. */
  againIn: number | null;
  /** Seconds of the endpoint's pause after a failure. */
  pause: number;
}

/** Records an attempt; returns the reason if it stops the endpoint, null otherwise. */
export async function settleWebhook(db: Db, attempt: WebhookAttempt): Promise<string | null> {
  const [row] = await db<{ stop: string | null }[]>`
    select settle_webhook(
      ${attempt.endpointId}::uuid, ${attempt.position}::bigint, ${attempt.accepted}::boolean, ${attempt.status}::integer,
      ${attempt.answer}::text, ${attempt.ms}::integer, make_interval(secs => ${attempt.againIn}::double precision),
      make_interval(secs => ${attempt.pause}::double precision)
    )::text as stop`;
  return row?.stop ?? null;
}

/** Ends a run; the endpoint's next one is at `dueAt`, or when a retry is due. */
export const endWebhookRun = (db: Db, endpointId: string, run: string, dueAt: Date | null) =>
  db`select from end_webhook_run(${endpointId}::uuid, ${run}::uuid, ${dueAt}::timestamptz)`;

/**
 * Deletes up to `limit` deliveries that are older than 30 days, and finished or of an endpoint that is stopped or deleted; returns
 * their number.
 */
export const deleteOldWebhooks = (db: Db, limit: number) =>
  countRows(db`
    delete from webhook_deliveries d
    -- one that is sent again meanwhile stays
    where (d.next_attempt_at is null or not exists (
        select from webhook_endpoints w where w.id = d.endpoint_id and w.stopped_at is null
      ))
      and d.ctid = any (array(
        select old.ctid
        from webhook_deliveries old
        where old.created_at < now() - interval '30 days' and (old.next_attempt_at is null or not exists (
            select from webhook_endpoints w where w.id = old.endpoint_id and w.stopped_at is null
          ))
        limit ${limit}
      ))`);

/** Whether an endpoint has a job that runs or waits. */
export const hasWebhookJob = (db: Db, endpointId: string) =>
  onlyValue(db<{ has: boolean }[]>`
    select coalesce(exists (
      select from webhook_endpoints w join open_jobs j on j.id = w.job_id where w.id = ${endpointId}::uuid
    ), false) as has`);

/** An endpoint as its owner sees it, without secrets. */
export interface WebhookEndpointRow {
  id: string;
  url: string;
  description: string | null;
  types: string[] | null;
  stoppedAt: Date | null;
  stoppedWhy: Enum<"webhookStop"> | null;
  failingSince: Date | null;
  pausedUntil: Date | null;
  createdAt: Date;
}

/** The owner of endpoints: a partner, or null for the platform. */
type Owner = string | null;

/** Counts an owner's endpoints, and locks their number until the transaction ends. */
export async function lockWebhookEndpoints(tx: Db, owner: Owner): Promise<number> {
  await tx`select from pg_advisory_xact_lock(hashtextextended('webhook endpoints ' || coalesce(${owner}::text, ''), 0))`;
  return onlyValue(tx<{ count: number }[]>`
    select count(*) as count from webhook_endpoints where partner_id is not distinct from ${owner}::uuid`);
}

/** Whether an operator has stopped one of a partner's endpoints. */
export const hasWebhookEndpointStoppedByOperator = (db: Db, partnerId: string) =>
  hasRows(db`
    select from webhook_endpoints where partner_id = ${partnerId}::uuid and stopped_why = 'BY_OPERATOR' limit 1`);

/** Lists an owner's endpoints, newest first, after the one with id `after`. */
export const listWebhookEndpoints = (db: Db, owner: Owner, after: string | null, limit: number) =>
  db<WebhookEndpointRow[]>`
    select id, url, description, types, stopped_at, stopped_why, failing_since,
           case when paused_until > now() then paused_until end as paused_until, created_at
    from webhook_endpoints
    where partner_id is not distinct from ${owner}::uuid and (${after}::uuid is null or id < ${after}::uuid)
    order by id desc
    limit ${limit}`;

/** Finds an owner's endpoint. */
export const findWebhookEndpoint = (db: Db, id: string, owner: Owner) =>
  firstRow(db<WebhookEndpointRow[]>`
    select id, url, description, types, stopped_at, stopped_why, failing_since,
           case when paused_until > now() then paused_until end as paused_until, created_at
    from webhook_endpoints
    where id = ${id}::uuid and partner_id is not distinct from ${owner}::uuid`);

export interface WebhookEndpointChanges {
  url?: string | undefined;
  /** Null: none. */
  description?: string | null | undefined;
  /** Null: all. */
  types?: string[] | null | undefined;
  enabled?: boolean | undefined;
}

/**
 * Updates an owner's endpoint. False when there is no such one, when its owner may not enable it, because an operator has stopped
 * it, or when a partner may not change its address, because an operator has stopped one of the partner's endpoints. An endpoint
 * that is enabled again receives its pending deliveries, and events from now on. Changed types apply to events from now on.
 */
export const updateWebhookEndpoint = (
  db: Db,
  id: string,
  owner: Owner,
  { url, description, types, enabled }: WebhookEndpointChanges,
  by: Extract<Enum<"webhookStop">, "BY_OWNER" | "BY_OPERATOR"> = "BY_OWNER",
) =>
  hasRows(db`
    with changed as (
      update webhook_endpoints w
      set url = coalesce(${url ?? null}::text, w.url),
          description = case when ${description !== undefined}::boolean then ${description ?? null}::text else w.description end,
          types = case when ${types !== undefined}::boolean then ${types ?? null}::text[] else w.types end,
          stopped_at = case ${enabled ?? null}::boolean when false then coalesce(w.stopped_at, now()) when true then null else w.stopped_at end,
          stopped_why = case ${enabled ?? null}::boolean
            when false then case when ${by}::webhook_stop = 'BY_OPERATOR' or w.stopped_why is null then ${by}::webhook_stop else w.stopped_why end
            when true then null
            else w.stopped_why
          end,
          position = case
            when ${enabled ?? false}::boolean and w.stopped_at is not null then l.last_position
            -- it has all events of its present types
            when ${types !== undefined}::boolean and w.job_id is null and w.claim is null then l.last_position
            else w.position
          end,
          failures = case when ${enabled ?? false}::boolean then 0 else w.failures end,
          failing_since = case when ${enabled ?? false}::boolean then null else w.failing_since end,
          paused_until = case when ${enabled ?? false}::boolean then null else w.paused_until end,
          updated_at = now()
      from event_log l
      where w.id = ${id}::uuid and w.partner_id is not distinct from ${owner}::uuid
        and not (${enabled ?? false}::boolean and ${by}::webhook_stop = 'BY_OWNER' and w.stopped_why is not distinct from 'BY_OPERATOR')
        and not (w.url <> coalesce(${url ?? null}::text, w.url) and exists (
          select from webhook_endpoints s where s.partner_id = w.partner_id and s.stopped_why = 'BY_OPERATOR'
        ))
      returning w.id
    )
    select from changed`);

/** Stops the endpoints that a service key created, until an operator starts them. */
export const stopWebhooksOfApiKey = (tx: Db, apiKeyId: string) =>
  tx`
    update webhook_endpoints
    set stopped_at = coalesce(stopped_at, now()), stopped_why = 'BY_OPERATOR', updated_at = now()
    where id = any (array(
      -- in the order in which announce_events locks
      select id from webhook_endpoints where api_key_id = ${apiKeyId}::uuid order by id for no key update
    ))`;

/** Schedules a job for an endpoint that is not stopped: now, or at the end of its pause. */
export const scheduleWebhooks = (db: Db, id: string) => db`select from schedule_webhooks(${id}::uuid, now())`;

/** Replaces an endpoint's secret; the old one also signs until `until`. False when the owner has no such endpoint. */
export const updateWebhookSecret = (db: Db, id: string, owner: Owner, secret: string, until: Date) =>
  hasRows(db<{ id: string }[]>`
    update webhook_endpoints
    set old_secret = secret, old_secret_until = ${until}, secret = ${secret}, updated_at = now()
    where id = ${id}::uuid and partner_id is not distinct from ${owner}::uuid
    returning id`);

/**
 * Deletes an endpoint; its deliveries are deleted by age. False when the owner has no such endpoint, or it is a partner's that an
 * operator has stopped.
 */
export const deleteWebhookEndpoint = (db: Db, id: string, owner: Owner) =>
  hasRows(db<{ id: string }[]>`
    delete from webhook_endpoints
    where id = ${id}::uuid and partner_id is not distinct from ${owner}::uuid
      and (partner_id is null or stopped_why is distinct from 'BY_OPERATOR')
    returning id`);

export interface WebhookDeliveryRow {
  position: number;
  eventId: string;
  type: string;
  status: Enum<"webhookStatus">;
  attempts: number;
  answered: number | null;
  answer: string | null;
  ms: number | null;
  attemptedAt: Date | null;
  nextAttemptAt: Date | null;
}

/**
 * Lists an endpoint's deliveries with any of `statuses`, the latest event first, after the one at `after`. Each status has a branch
 * with an index of its own, because few of millions may have failed.
 */
export const listWebhookDeliveries = (
  db: Db,
  endpointId: string,
  statuses: readonly Enum<"webhookStatus">[],
  after: number | null,
  limit: number,
) => {
  const before = after ?? Number.MAX_SAFE_INTEGER;
  return db<WebhookDeliveryRow[]>`
    with listed as (
      (
        select position from webhook_deliveries
        where ${statuses.includes("SENT")}::boolean and endpoint_id = ${endpointId}::uuid and position < ${before}::bigint
          and status = 'SENT'
        order by position desc
        limit ${limit}
      )
      union all
      (
        select position from webhook_deliveries
        where ${statuses.includes("FAILED")}::boolean and endpoint_id = ${endpointId}::uuid and position < ${before}::bigint
          and status = 'FAILED'
        order by position desc
        limit ${limit}
      )
      union all
      (
        select position from webhook_deliveries
        where ${statuses.includes("PENDING")}::boolean and endpoint_id = ${endpointId}::uuid and position < ${before}::bigint
          and next_attempt_at is not null
        order by position desc
        limit ${limit}
      )
    )
    select position, event_id, type, status, attempts, answered, answer, ms, attempted_at, next_attempt_at
    from webhook_deliveries
    where endpoint_id = ${endpointId}::uuid and position = any (array(select listed.position from listed))
    order by position desc
    limit ${limit}`;
};

/** Resends an event, with a full set of attempts; false when the endpoint has no such delivery. */
export const resendWebhook = (db: Db, endpointId: string, position: number) =>
  hasRows(db`
    with again as (
      update webhook_deliveries
      set status = 'PENDING', attempts = 0, next_attempt_at = now()
      where endpoint_id = ${endpointId}::uuid and position = ${position}::bigint
      returning endpoint_id
    )
    select from again cross join lateral schedule_webhooks(again.endpoint_id, now())`);

/** The encrypted secrets of an endpoint. */
export interface EncryptedWebhookSecrets {
  id: string;
  secret: string;
  oldSecret: string | null;
}

/** Counts endpoints with a secret encrypted under any key but `keyId`. */
export const countWebhookSecretsUnderOtherKeys = (db: Db, keyId: string) =>
  onlyValue(db<{ endpoints: number }[]>`
    select count(*) as endpoints from webhook_endpoints
    where split_part(secret, '.', 1) <> ${keyId} or split_part(old_secret, '.', 1) <> ${keyId}`);

/** Lists secrets of which one is encrypted under any key but `keyId`, by id, after the endpoint `after`. */
export const listWebhookSecretsUnderOtherKeys = (db: Db, keyId: string, after: string | null, limit: number) =>
  db<EncryptedWebhookSecrets[]>`
    select id, secret, old_secret
    from webhook_endpoints
    where (split_part(secret, '.', 1) <> ${keyId} or split_part(old_secret, '.', 1) <> ${keyId})
      and (${after}::uuid is null or id > ${after}::uuid)
    order by id
    limit ${limit}`;

/** Replaces the stored secrets `before` with the same under another key; false when they have changed in the meantime. */
export const updateEncryptedWebhookSecrets = (
  db: Db,
  before: EncryptedWebhookSecrets,
  { secret, oldSecret }: Pick<EncryptedWebhookSecrets, "secret" | "oldSecret">,
) =>
  hasRows(db`
    update webhook_endpoints set secret = ${secret}, old_secret = ${oldSecret}
    where id = ${before.id}::uuid and secret = ${before.secret} and old_secret is not distinct from ${before.oldSecret}`);
