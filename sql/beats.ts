import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { lastCalls, recentCalls, type LastCalls } from "../lib/outbound/vendor-calls.js";
import { describeError } from "../lib/process/describe-error.js";
import { log } from "../lib/process/log.js";
import { version } from "../lib/process/version.js";
import { withTimeout } from "../lib/process/with-timeout.js";
import type { Enum } from "../lib/domain/enums.js";
import { databaseStats, replicaStats, sql } from "./db.js";

/** A process counts as gone when it missed two of these. */
export const BEAT_SECONDS = 15;
const FAREWELL_MS = 1_000;

/** What a process says of itself with each beat. Other releases may say more or less. */
export const Facts = z.object({
  /** Statements and transactions that run, and transactions that wait for a connection. */
  statements: z.int(),
  transactions: z.int(),
  waiting: z.int(),
  replicas: z.array(z.object({ name: z.string(), lagSeconds: z.number() })),
  vendors: z.array(z.object({ vendor: z.string(), calls: z.int(), failed: z.int() })),
  /** Third parties that do not answer: not called before `until`, and then by one call at a time. */
  paused: z
    .array(z.object({ queue: z.string(), origin: z.string(), since: z.coerce.date(), until: z.coerce.date() }))
    .default([]),
});
type Facts = z.output<typeof Facts>;

function factsNow(paused: Facts["paused"]): Facts {
  const { statements, transactions } = databaseStats();
  return {
    statements: statements.running,
    transactions: transactions.running,
    waiting: transactions.waiting,
    replicas: replicaStats().replicas.map(({ name, lagSeconds }) => ({ name, lagSeconds })),
    vendors: recentCalls(),
    paused,
  };
}

const inJson = ({ vendor, succeededAt, failedAt }: LastCalls) => ({
  vendor,
  succeededAt: succeededAt?.toISOString() ?? null,
  failedAt: failedAt?.toISOString() ?? null,
});

/** Shows operators, four times a minute, that this process is alive, until it is stopped. */
export function startBeats(
  role: Enum<"processRole">,
  pausedOrigins: () => Facts["paused"] = () => [],
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const id = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;
  const startedAt = new Date();
  // the calls have rows of their own: they outlive the process
  const beat = () => sql`
    with beat as (
      insert into processes (id, role, version, started_at, facts)
      values (${id}, ${role}::text::process_role, ${version}, ${startedAt}, ${sql.json(factsNow(pausedOrigins()))})
      on conflict (id) do update set beat_at = now(), facts = excluded.facts
    )
    insert into vendor_calls as known (vendor, succeeded_at, failed_at)
    select vendor, "succeededAt", "failedAt"
    from jsonb_to_recordset(${sql.json(lastCalls().map(inJson))})
      as call (vendor text, "succeededAt" timestamptz, "failedAt" timestamptz)
    order by vendor
    on conflict (vendor) do update
    set succeeded_at = greatest(known.succeeded_at, excluded.succeeded_at), failed_at = greatest(known.failed_at, excluded.failed_at)
    where excluded.succeeded_at > coalesce(known.succeeded_at, '-infinity')
      or excluded.failed_at > coalesce(known.failed_at, '-infinity')`;
  const run = async () => {
    while (!stopping.signal.aborted) {
      await beat().catch((error: unknown) =>
        log.debug({ error: describeError(error) }, "the beat of this process was not recorded"),
      );
      await delay(BEAT_SECONDS * 1_000, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
    await sql`delete from processes where id = ${id}`;
  };
  const running = run();
  return {
    async stop() {
      stopping.abort();
      // a row that stays is taken for that of a process that died
      await withTimeout(FAREWELL_MS, running).catch(() => undefined);
    },
  };
}
