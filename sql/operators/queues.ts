import type { Db } from "../db.js";
import { countRows } from "../rows.js";

/** Counts jobs by queue, of the hundred thousand open ones that are due first and of those that were staged or done in five minutes. */
export const summarizeQueues = (db: Db) =>
  db<
    {
      queue: string | null;
      due: number;
      waiting: number;
      oldestDueSeconds: number;
      stagedPerMinute: number;
      donePerMinute: number;
      dead: number;
    }[]
  >`
    with seen as (
      select queue, 'OPEN' as kind, run_at
      from (
        select queue, run_at from staged_jobs where done_at is null and dead_at is null order by next_send_at limit 100000
      ) as job
      union all
      select queue, 'STAGED', created_at
      from (
        select queue, created_at
        from staged_jobs
        where id >= (select job_id_at(now() - interval '5 minutes'))
        limit 100000
      ) as job
      union all
      select queue, 'DONE', done_at
      from (
        select queue, done_at from staged_jobs where done_at > now() - interval '5 minutes' order by done_at desc limit 100000
      ) as job
      union all
      select queue, 'DEAD', dead_at
      from staged_jobs
      where dead_at is not null and done_at is null
    )
    select
      queue,
      count(*) filter (where kind = 'OPEN' and run_at <= now()) as due,
      count(*) filter (where kind = 'OPEN' and run_at > now()) as waiting,
      coalesce(
        extract(epoch from now() - min(run_at) filter (where kind = 'OPEN' and run_at <= now())), 0
      )::double precision as oldest_due_seconds,
      (count(*) filter (where kind = 'STAGED') / 5.0)::double precision as staged_per_minute,
      (count(*) filter (where kind = 'DONE') / 5.0)::double precision as done_per_minute,
      count(*) filter (where kind = 'DEAD') as dead
    from seen
    group by queue
    order by queue`;

/** Who has due jobs of a queue: a partner, a user or an endpoint of webhooks. */
export interface JobOwner {
  partnerId: string | null;
  userId: string | null;
  endpointId: string | null;
  jobs: number;
  /** When the first of them became due. */
  dueSince: Date;
}

/**
 * Lists who has the most of a queue's due jobs, by the ids in their payloads: of the ten thousand that are due first, among the hundred
 * thousand open ones of all queues. A job about an order is its partner's; a push is its user's too. What a job names is looked up by its
 * key, in scalar subqueries: for a join Postgres might read whole tables.
 */
export const listJobOwners = (db: Db, queue: string, limit: number) =>
  db<JobOwner[]>`
    with due as materialized (
      select payload, run_at
      from (
        select queue, payload, run_at from staged_jobs where done_at is null and dead_at is null order by next_send_at limit 100000
      ) as job
      where queue = ${queue}::text and run_at <= now()
      limit 10000
    ), named as materialized (
      select key, value, run_at
      from due, jsonb_each_text(payload)
      where value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
    ), owned as materialized (
      select
        case key
          when 'partnerId' then value::uuid
          when 'importId' then (select partner_id from menu_imports where id = value::uuid)
          when 'syncId' then (select partner_id from pos_syncs where id = value::uuid)
          when 'statementId' then (select partner_id from statements where id = value::uuid)
          when 'notificationId' then (
            select coalesce(
              n.partner_id, (select o.partner_id from orders o where o.id = n.order_id), (select b.partner_id from boxes b where b.id = n.box_id)
            )
            from notifications n
            where n.id = value::uuid
          )
          when 'subjectId' then coalesce(
            (select partner_id from orders where id = value::uuid), (select partner_id from boxes where id = value::uuid),
            (select partner_id from reviews where id = value::uuid), (select id from partners where id = value::uuid)
          )
        end as partner_id,
        case key
          when 'fileId' then (select user_id from files where id = value::uuid)
          when 'exportId' then (select user_id from data_exports where id = value::uuid)
          when 'notificationId' then (select user_id from notifications where id = value::uuid)
        end as user_id,
        case key when 'endpointId' then value::uuid end as endpoint_id,
        run_at
      from named
    )
    select partner_id, user_id, endpoint_id, count(*) as jobs, coalesce(min(run_at)::timestamptz, now()) as due_since
    from owned
    group by grouping sets ((partner_id), (user_id), (endpoint_id))
    having num_nonnulls(partner_id, user_id, endpoint_id) = 1
    order by jobs desc, due_since
    limit ${limit}`;

/**
 * Lists the whole minutes that are to be recorded, oldest first: those since the last one that is. After an outage of the workers they
 * may be many; the rows of jobs that are done say for a day what happened in them.
 */
export const listMinutesToRecord = async (db: Db): Promise<Date[]> =>
  (
    await db<{ minute: Date }[]>`
      select minute
      from
        (select max(minute) as latest from queue_minutes where queue = 'upkeep') as recorded,
        generate_series(
          greatest(
            coalesce(latest, date_trunc('minute', now()) - interval '2 minutes') + interval '1 minute',
            date_trunc('minute', now()) - interval '23 hours'
          ),
          date_trunc('minute', now()) - interval '1 minute', interval '1 minute'
        ) as minute
      order by minute`
  ).map(({ minute }) => minute);

/**
 * Records what each queue did in a minute, unless that is recorded: the jobs staged and done and, of the latest minute, how old the
 * oldest due one is now, of the hundred thousand open ones that are due first. `upkeep` has a row in any case.
 */
export const insertQueueMinute = (db: Db, minute: Date) =>
  countRows(db`
    with span as (
      select
        ${minute}::timestamptz as starts, ${minute}::timestamptz + interval '1 minute' as ends,
        ${minute}::timestamptz > now() - interval '2 minutes' as is_latest
    ), seen as (
      select queue, 1 as staged, 0 as done, null::timestamptz as due_at
      from staged_jobs
      where id >= (select job_id_at(starts - interval '20 seconds') from span)
        and created_at >= (select starts from span) and created_at < (select ends from span)
      union all
      select queue, 0, 1, null
      from staged_jobs
      where done_at >= (select starts from span) and done_at < (select ends from span)
      union all
      select queue, 0, 0, run_at
      from (
        select queue, run_at
        from staged_jobs
        where done_at is null and dead_at is null and (select is_latest from span)
        order by next_send_at
        limit 100000
      ) as job
      where run_at <= now()
      union all
      select 'upkeep', 0, 0, null
    )
    insert into queue_minutes (minute, queue, staged, done, oldest_due_seconds)
    select
      (select starts from span), queue, sum(staged), sum(done),
      case when (select is_latest from span) then coalesce(extract(epoch from now() - min(due_at)), 0) end
    from seen
    group by queue
    on conflict do nothing`);
