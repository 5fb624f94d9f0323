import { readFileSync, statSync } from "node:fs";
import pg from "pg";
import type { Measure } from "./chapter.js";
import { median } from "./compare.js";
import { makeDatabase } from "./database.js";
import { PRICE, seedMarketplace, type Marketplace } from "./marketplace.js";
import { DeliveryRate, type OrderSqlPlan } from "./messages.js";
import type { Program } from "./program.js";
import { print, printGoal, printRow } from "./report.js";

/** Of the CPU time that an order takes Postgres without the log. */
const MOST_RATIO = 1.05;
const BATCH = 1_000;

/** The part of place_order that writes the event. */
const EVENT = /, new_fact as \([\s\S]+?\n {2}\)(?=, )/;

/** Lets place_order of a database write no event. */
async function leaveEventsOut(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query<{ text: string }>(
      "select pg_get_functiondef(oid) as text from pg_proc where proname = 'place_order'",
    );
    const text = rows[0]?.text ?? "";
    if (rows.length !== 1 || !EVENT.test(text)) throw new Error("place_order writes its event in another way now");
    await client.query(text.replace(EVENT, ""));
  } finally {
    await client.end();
  }
}

/** Numbers all new events; returns the CPU time for each, in µs. */
async function numberAll(client: pg.Client, pid: number): Promise<number> {
  const cpuMicros = () => Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1_000;
  const before = cpuMicros();
  let [numbered, last] = [0, BATCH];
  while (last === BATCH) {
    const { rows } = await client.query<{ count: number }>("select number_events($1)::integer as count", [BATCH]);
    last = rows[0]?.count ?? 0;
    numbered += last;
  }
  return (cpuMicros() - before) / numbered;
}

/** Compares Postgres's CPU time for an order and the number of its event with that of an order that writes no event, in pairs. */
export const compareEvents: Measure = async (lab, marketplace, { rounds, seconds, warmUpSeconds }) => {
  if (!statSync("/proc/self/schedstat", { throwIfNoEntry: false })) {
    print("  skipped: this system has no /proc");
    return;
  }
  const withoutUrl = await makeDatabase(lab.databaseUrl, "bench_without_events");
  await leaveEventsOut(withoutUrl);
  const bare = await seedMarketplace(withoutUrl);
  const program = "scripts/bench/programs/order-sql";
  const [logged, unlogged] = [await lab.start(program), await lab.start(program, { DATABASE_URL: withoutUrl })];
  const place = (by: Program, { boxes }: Marketplace, duration: number) => {
    const totalMinor = Math.round(PRICE * 100);
    return by.ask({ how: "function", seconds: duration, boxes, totalMinor } satisfies OrderSqlPlan, DeliveryRate);
  };
  const client = new pg.Client(lab.databaseUrl);
  await client.connect();
  const rates: { with: number; without: number; numbering: number; perSecond: number }[] = [];
  try {
    const session = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const pid = session.rows[0]?.pid ?? 0;
    for (let round = 0; round <= rounds; round += 1) {
      const duration = round === 0 ? warmUpSeconds : seconds;
      const first = round % 2 === 0 ? await place(logged, marketplace, duration) : null;
      const without = await place(unlogged, bare, duration);
      const withLog = first ?? (await place(logged, marketplace, duration));
      const numbering = await numberAll(client, pid);
      if (round === 0) continue;
      const perSecond = withLog.perSecond / without.perSecond;
      rates.push({ with: withLog.cpuMicros, without: without.cpuMicros, numbering, perSecond });
    }
  } finally {
    await client.end();
  }
  const ratios = rates.map((rate) => (rate.with + rate.numbering) / rate.without);
  const micros = (name: string, values: readonly number[]) =>
    printRow(name, [{ name: "CPU", value: median(values), unit: "µs" }]);
  micros(
    "an order without an event",
    rates.map(({ without }) => without),
  );
  micros(
    "an order with its event",
    rates.map((rate) => rate.with),
  );
  micros(
    "the number of an event, in batches",
    rates.map(({ numbering }) => numbering),
  );
  printRow("    by round", [
    { name: "least", value: Math.min(...ratios), unit: "" },
    { name: "most", value: Math.max(...ratios), unit: "" },
    { name: "orders", value: median(rates.map(({ perSecond }) => perSecond)), unit: "" },
  ]);
  const name = "CPU time with event and number, of that without";
  printGoal({ name, value: median(ratios), unit: "", sign: "≤", goal: MOST_RATIO });
};
