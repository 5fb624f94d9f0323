import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { firstRow, onlyValue } from "../rows.js";
import type { JobFilter } from "./jobs.js";

/** Something that an operator does to all jobs, or parked POS events, that match. */
export interface BulkActionRow extends JobFilter {
  id: string;
  kind: Enum<"bulkActionKind">;
  state: Enum<"bulkActionState">;
  /** Whose parked events are meant; null: of any partner. */
  partnerId: string | null;
  /** When snoozed jobs are to run. */
  until: Date | null;
  why: string;
  /** How many jobs or events matched when it was asked for. */
  matched: number;
  /** How many have been changed so far. */
  changed: number;
  createdAt: Date;
  /** Null while earlier ones go on. */
  startedAt: Date | null;
  /** Null while it goes on. */
  settledAt: Date | null;
  /** Null when no operator has stopped it. */
  stoppedWhy: string | null;
}

export interface NewBulkAction extends JobFilter {
  kind: Enum<"bulkActionKind">;
  state: Enum<"bulkActionState">;
  partnerId: string | null;
  until: Date | null;
  why: string;
  /** Null in a shell. */
  actorId: string | null;
}

/** Asks for a bulk action and stages the upkeep that carries it out; returns its id. */
export const insertBulkAction = (
  db: Db,
  {
    kind,
    state,
    queue,
    error,
    stagedFrom,
    stagedBefore,
    minAttempts,
    argument,
    partnerId,
    until,
    why,
    actorId,
  }: NewBulkAction,
) =>
  onlyValue(db<{ id: string }[]>`
    with dead as (
      select count(*) as jobs
      from staged_jobs job
      where dead_at is not null and done_at is null and ${state}::text = 'DEAD'
        and is_job_meant(job, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer, ${db.json(argument)}::jsonb)
    ), open as (
      select count(*) as jobs
      from staged_jobs job
      where done_at is null and dead_at is null and ${state}::text in ('DUE', 'WAITING') and (run_at <= now()) = (${state}::text = 'DUE')
        and is_job_meant(job, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer, ${db.json(argument)}::jsonb)
    ), parked as (
      select count(*) as events
      from pos_events event
      where status = 'PARKED' and ${state}::text = 'PARKED'
        and is_event_meant(event, ${partnerId}::uuid, ${error}::text, ${stagedFrom}::timestamptz, ${stagedBefore}::timestamptz, ${minAttempts}::integer)
    ), action as (
      insert into bulk_actions (
        kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched
      )
      select
        ${kind}::bulk_action_kind, ${state}::bulk_action_state, ${queue}::text, ${error}::text, ${stagedFrom}::timestamptz,
        ${stagedBefore}::timestamptz, ${minAttempts}::integer, ${db.json(argument)}::jsonb, ${partnerId}::uuid, ${until}::timestamptz,
        ${why}::text, dead.jobs + open.jobs + parked.events
      from dead, open, parked
      returning
        id, kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched
    ), audited as (
      insert into audit_events (actor_id, action, subject_id, details)
      select
        ${actorId}::uuid, case when state = 'PARKED' then 'POS_EVENTS_' else 'JOBS_' end || kind, id,
        jsonb_strip_nulls(jsonb_build_object(
          'state', state, 'queue', queue, 'error', error, 'stagedFrom', staged_from, 'stagedBefore', staged_before,
          'minAttempts', min_attempts, 'argument', argument, 'partner', partner_id, 'until', until, 'why', why, 'matched', matched
        ))
      from action
    ), staged as materialized (
      select stage_job('upkeep', jsonb_build_object('task', 'bulk-actions')) from action
    )
    select action.id::text as id from action, staged`);

/** Finds a bulk action; undefined for another id. */
export const findBulkAction = (db: Db, id: string) =>
  firstRow(db<BulkActionRow[]>`
    select
      id, kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched, changed,
      created_at, started_at, settled_at, stopped_why
    from bulk_actions
    where id = ${id}::uuid`);

/** Lists bulk actions, newest first, after the one with id `after`. */
export const listBulkActions = (db: Db, after: string | null, limit: number) =>
  db<BulkActionRow[]>`
    select
      id, kind, state, queue, error, staged_from, staged_before, min_attempts, argument, partner_id, until, why, matched, changed,
      created_at, started_at, settled_at, stopped_why
    from bulk_actions
    where ${after}::uuid is null or id < ${after}::uuid
    order by id desc
    limit ${limit}`;

/** Works on a bulk action: up to `limit` of its jobs or events. When there are none left it is settled. */
export const continueBulkAction = (db: Db, id: string, limit: number) =>
  db`select from continue_bulk_action(${id}::uuid, ${limit}::integer)`;

/** Ends an open bulk action after the batch that is under way; returns how many jobs it has changed, undefined when it is not open. */
export async function updateBulkActionStopped(db: Db, id: string, why: string): Promise<number | undefined> {
  const stopped = await firstRow(db<{ changed: number }[]>`
    update bulk_actions set settled_at = clock_timestamp(), stopped_why = ${why}
    where id = ${id}::uuid and settled_at is null
    returning changed`);
  return stopped?.changed;
}

/** Finds the oldest open bulk action. */
export const findOpenBulkAction = (db: Db) =>
  firstRow(db<{ id: string; matched: number; changed: number }[]>`
    select id, matched, changed from bulk_actions where settled_at is null order by id limit 1`);
