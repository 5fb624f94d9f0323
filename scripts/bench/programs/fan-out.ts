import { log } from "../../../lib/process/log.js";
import type { Payload } from "../../../queues/contract.js";
import { fanOut } from "../../../queues/index.js";
import { sql } from "../../../sql/db.js";
import { stageJob, completeJob } from "../../../sql/outbox.js";
import { fanOutEvent } from "../../../workers/fan-out.js";
import { FanOutPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Notifies all followers of a bakery of a new box: as the worker does, job by job, with the pushes of each job removed
// before the next; or by writing as many notifications with one statement.

/** Creates a bakery with a box and this many followers, unless it exists; returns the box's id. */
async function prepare(followers: number): Promise<string> {
  const [known] = await sql<{ id: string }[]>`select id from boxes`;
  if (known) return known.id;
  await sql`insert into cities (id, name, timezone) values ('bench', 'Bench', 'Europe/Moscow')`;
  const [box] = await sql<{ id: string }[]>`
    with partner as (
      insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at)
      values ('loved', 'Loved by all', 'bench', 'Тверская улица, 1', 55.7, 37.6, 'ACTIVE', now())
      returning id, city_id
    )
    insert into boxes (
      partner_id, city_id, title, price_minor, quantity_available, pickup_window_start, pickup_window_end
    )
    select id, city_id, 'Вечерний набор', 24990, 5, now() + interval '1 day', now() + interval '25 hours' from partner
    returning id`;
  if (!box) throw new Error("no box was inserted");
  await sql`
    insert into users (service_id, phone)
    select 'SF-' || n, '+7' || (9000000000 + n) from generate_series(1, ${followers}::integer) as n`;
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    select id, true, true, true, true, '22:00', '08:00' from users`;
  await sql`insert into favorites (user_id, partner_id) select u.id, p.id from users u cross join partners p`;
  return box.id;
}

/** Runs the fan-out jobs of a box until none is left; returns how long they took. */
async function notifyAll(boxId: string): Promise<number> {
  await stageJob(sql, fanOut, { event: "BOX_LISTED", subjectId: boxId, after: null });
  for (let ms = 0; ;) {
    const [open] = await sql<{ id: string; generation: number; payload: Payload }[]>`
      select id::text as id, generation, payload from staged_jobs where queue = 'fan-out' and done_at is null`;
    if (!open) return ms;
    const start = performance.now();
    await fanOutEvent({
      payload: fanOut.payload.parse(open.payload),
      log,
      progress: () => undefined,
      requestId: undefined,
      attempt: 1,
      signal: new AbortController().signal,
      done: async (tx) => {
        await completeJob(tx, open);
      },
    });
    ms += performance.now() - start;
    await sql`delete from staged_jobs where queue = 'push'`;
  }
}

async function insertAll(boxId: string): Promise<number> {
  const start = performance.now();
  await sql`
    insert into notifications (user_id, kind, partner_id, box_id)
    select f.user_id, 'FAVORITE_LISTED', b.partner_id, b.id
    from boxes b
    join favorites f on f.partner_id = b.partner_id
    where b.id = ${boxId}::uuid`;
  return performance.now() - start;
}

answerParent(FanOutPlan, async ({ how, followers }) => {
  const boxId = await prepare(followers);
  // start without notifications
  await sql`truncate staged_jobs, notifications, notification_deliveries`;
  await sql`vacuum analyze notifications, staged_jobs, favorites, notification_preferences, boxes`;
  const ms = await (how === "worker" ? notifyAll(boxId) : insertAll(boxId));
  const notified = await sql`select from notifications`;
  if (notified.count !== followers) throw new Error(`${notified.count} of ${followers} followers were notified`);
  return { perSecond: (followers * 1_000) / ms };
});
