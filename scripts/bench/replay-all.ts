import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Measure } from "./chapter.js";
import { quantile } from "./compare.js";
import { placements } from "./http.js";
import { Arrivals, type ArrivalsPlan } from "./messages.js";
import type { Program } from "./program.js";
import { printGoal, printRow } from "./report.js";

const DEAD_JOBS = 100_000;
const ORDERS_PER_SECOND = 50;
const CHECK_MS = 500;
/** What users are promised (scripts/ops/runbook.md, ServiceLevelLost). */
const LONGEST_ORDER_MS = 300;
/** The service level of pushes. */
const LONGEST_PUSH_SECONDS = 5;

const operator = { phone: "+79990000000", code: "000000" };

/** As after an outage of push services: notifications of all users, whose jobs are dead. */
const DEAD = `
  with unsent as (
    insert into notifications (user_id, kind, partner_id)
    select id, 'ORDER_READY', (select id from partners limit 1)
    from (select id from users where first_name = 'Иван' limit 1000) as users, generate_series(1, ${DEAD_JOBS / 1_000})
    returning id
  )
  insert into staged_jobs (queue, payload, attempts, dead_at, last_error)
  select 'push', jsonb_build_object('notificationId', id), 8, now(), 'HTTP 503' from unsent`;

/** Fills in a form of the console, as a browser does. */
const send = ({ url }: Program, path: string, fields: Readonly<Record<string, string>>, cookie = "") =>
  fetch(url + path, {
    method: "POST",
    redirect: "manual",
    headers: { origin: url, cookie },
    body: new URLSearchParams(fields),
  });

async function signIn(api: Program): Promise<string> {
  await send(api, "/admin/queues/sign-in", { phone: operator.phone });
  const answer = await send(api, "/admin/queues/sign-in/code", operator);
  const [cookie] = answer.headers.getSetCookie().map((line) => line.split(";", 1)[0] ?? "");
  if (cookie === undefined) throw new Error(`the operator could not sign in: ${answer.status}`);
  return cookie;
}

/** Clicks on “Replay” for all dead jobs of the queue; returns the id of the action. */
async function replayAll(api: Program, cookie: string): Promise<string> {
  const form = { state: "DEAD", queue: "push", error: "503", all: "on", kind: "REPLAY", sure: "on" };
  const answer = await send(api, "/admin/ops/jobs", { ...form, why: "the push service is back" }, cookie);
  const [, id] = /\/bulk-actions\/([\w-]+)(?:\?|$)/.exec(answer.headers.get("location") ?? "") ?? [];
  if (id === undefined) throw new Error(`the console answered ${answer.status}`);
  return id;
}

/** Replays 100,000 dead jobs from one form of the console while orders come at a steady rate, and before that the orders alone. */
export const replayBesideOrders: Measure = async (lab, marketplace, { seconds, warmUpSeconds }) => {
  const { prepareBroker } = await import("../../queues/broker.js");
  await prepareBroker();
  // without push services, messages are logged
  const env = { NODE_ENV: "development", ...(lab.redisUrl !== null && { REDIS_URL: lab.redisUrl }) };
  const [api, arrivals] = await Promise.all([
    lab.start("api/server", {
      ...env,
      OTP_FIXED_CODE: operator.code,
      ADMIN_PHONES: operator.phone,
    }),
    lab.start("scripts/bench/programs/arrivals"),
    lab.start("workers/main", env),
  ]);
  const streams = [{ connections: 100, perSecond: ORDERS_PER_SECOND, ...(await placements(marketplace)) }];
  let unanswered = 0;
  const order = async (seconds: number): Promise<number[]> => {
    const plan: ArrivalsPlan = { url: api.url, seconds, streams };
    const [{ taken, refused, failed } = { taken: [], refused: [], failed: Number.NaN }] = (
      await arrivals.ask(plan, Arrivals)
    ).streams;
    unanswered += refused.length + failed;
    return taken;
  };
  const client = new pg.Client(lab.databaseUrl);
  await client.connect();
  const ask = async (query: string, ...values: string[]) =>
    (await client.query<{ n: string }>(query, values)).rows[0]?.n;
  try {
    await client.query(DEAD);
    await client.query("vacuum analyze staged_jobs, notifications");
    await order(warmUpSeconds);
    if (unanswered > 0) throw new Error(`${unanswered} orders were not taken`);
    const alone = await order(3 * seconds);
    const cookie = await signIn(api);

    const beside: number[] = [];
    const clicked = performance.now();
    let answered = 0;
    const replaying = replayAll(api, cookie).then(async (id) => {
      answered = performance.now();
      const unsent = "select count(*) as n from notifications where kind = 'ORDER_READY' and status <> 'SENT'";
      while (Number(await ask(unsent)) > 0) await delay(CHECK_MS);
      return { id, done: performance.now() };
    });
    const replayed = replaying.then(
      () => true,
      () => true,
    );
    do beside.push(...(await order(seconds)));
    while (!(await Promise.race([replayed, delay(0, false)])));
    const { id, done } = await replaying;
    const late = await ask(
      `select percentile_disc(0.99) within group (order by extract(epoch from settled_at - created_at))::float8 as n
       from notifications
       where kind = 'ORDER_ACCEPTED' and status = 'SENT' and created_at > (select created_at from bulk_actions where id = $1::uuid)`,
      id,
    );
    const changed = Number(await ask("select changed as n from bulk_actions where id = $1::uuid", id));
    if (changed !== DEAD_JOBS) throw new Error(`${changed} jobs were replayed`);
    const staged = await ask(
      "select extract(epoch from settled_at - created_at)::float8 as n from bulk_actions where id = $1::uuid",
      id,
    );

    const doneSeconds = (done - clicked) / 1_000;
    printRow(`${DEAD_JOBS} dead jobs`, [
      { name: "answer to the click", value: answered - clicked, unit: "ms" },
      { name: "all due again", value: Number(staged), unit: "s" },
      { name: "all sent", value: doneSeconds, unit: "s" },
      { name: "sent", value: DEAD_JOBS / doneSeconds, unit: "/s" },
    ]);
    for (const [name, latencies] of [
      ["orders alone", alone],
      ["orders beside it", beside],
    ] as const)
      printRow(name, [
        { value: latencies.length, unit: "" },
        { name: "p50", value: quantile(latencies, 0.5), unit: "ms" },
        { name: "p99", value: quantile(latencies, 0.99), unit: "ms" },
      ]);
    printGoal({ name: "orders that failed or were refused", value: unanswered, unit: "", sign: "≤", goal: 0 });
    printGoal({
      ...{ name: "p99 of orders beside it", value: quantile(beside, 0.99), unit: "ms" },
      ...{ sign: "≤", goal: LONGEST_ORDER_MS },
    });
    printGoal({ name: "p99 of their pushes", value: Number(late), unit: "s", sign: "≤", goal: LONGEST_PUSH_SECONDS });
  } finally {
    await client.end();
  }
};
