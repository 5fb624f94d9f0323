import { setTimeout as delay } from "node:timers/promises";
import { config } from "../../lib/process/config.js";
import { describeError } from "../../lib/process/describe-error.js";
import { log } from "../../lib/process/log.js";
import type { ServerAddress } from "../../lib/process/server-address.js";
import { asDatabaseError, connectionLost, faultOf, type DatabaseError } from "./errors.js";
import type { openPool, PoolLimits } from "./pool.js";
import { findPoolerFault } from "./session-settings.js";
import type { Db, Rows, Run, Statement } from "./tag.js";

/** The longest pause between two looks at how far the replicas are, and the longest wait for the answer of one. */
const LOOK_MS = 250;
/**
 * How late an answer may be before the reads in flight are run on the primary. With the pause it is less than a search waits for
 * its turn, which those in flight have.
 */
const LATE_MS = 250;

/** How a read was answered: `empty` and `failed` ones were run again on the primary. */
export type ReplicaOutcome = "answered" | "empty" | "failed";

interface Replica {
  /** Its address without the user, for logs and metrics. */
  readonly name: string;
  readonly server: ServerAddress;
  /** It has everything that was committed before this moment of the monotonic clock. */
  caughtUpTo: number;
  /** Whether it answered as a replica of the primary's database when it was last asked. */
  follows: boolean;
  /** Why its pooler must not be used, null when it may; undefined until it was asked. */
  fault: string | null | undefined;
  /** Whether an answer of it is due. */
  asked: boolean;
  /** Whether reads went to it at the last look, for the log. */
  used: boolean;
  readonly reads: Record<ReplicaOutcome, number>;
  /** The rejections of the reads in flight. */
  readonly inFlight: Set<(error: DatabaseError) => void>;
}

export interface ReplicaStats {
  name: string;
  /** How old its data may be; while that is not known, the time since this process started. */
  lagSeconds: number;
  reads: Readonly<Record<ReplicaOutcome, number>>;
}

/** A place in the primary's log, and when everything committed so far was before it. */
interface Position {
  at: number;
  lsn: number;
}

const codeOf = (text: string): number => {
  let code = 0;
  for (let place = 0; place < text.length; place += 1) code = (code * 31 + text.charCodeAt(place)) >>> 0;
  return code;
};

/** The address of a replica without the user, for people. */
export const nameOf = ({ url }: ServerAddress): string => {
  const { host, pathname } = new URL(url);
  return host + pathname;
};

interface Found {
  /** Which database of which system: the same for all copies of a server. */
  identity: string;
  standby: boolean;
  /** The branch of the system's history: a promotion begins the next one. */
  timeline: number;
  /** How far it has written its log, or replayed the primary's. */
  lsn: number;
}

/**
 * Finds which database answers, and its place in the log. A standby may only tell its timeline at its next restart point, unless the role
 * may see the statistics of the receiver.
 */
export async function findPosition(db: Db): Promise<Found> {
  const [row] = await db<Found[]>`
    select coalesce(system_identifier || ' ' || current_database(), '') as identity,
           coalesce(pg_is_in_recovery(), false) as standby,
           case when pg_is_in_recovery()
             then greatest(
               (select received_tli from pg_stat_wal_receiver),
               (select timeline_id from pg_control_checkpoint()),
               (select min_recovery_end_timeline from pg_control_recovery()))
             else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
           end as timeline,
           coalesce(pg_wal_lsn_diff(
             case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0'), 0)::bigint as lsn
    from pg_control_system()`;
  if (!row) throw new Error("the server answered without a row");
  return row;
}

/**
 * Runs reads on replicas of the primary, which `sql` asks, when they are at most `maxLagMs` behind. The lag is measured by positions in the log, which need
 * no clock of another machine: a replica that has replayed what the primary had written at a moment has everything from before.
 * So an idle primary makes no lag, and a replica that is paused, cut off or away, or a primary that does not answer, makes one.
 */
export function openReplicas(
  servers: readonly ServerAddress[],
  maxLagMs: number,
  sql: Db,
  open: (purpose: string, limits: PoolLimits) => ReturnType<typeof openPool>,
) {
  const beginning = performance.now();
  const replicas: readonly Replica[] = servers.map((server) => ({
    name: nameOf(server),
    server,
    caughtUpTo: -Infinity,
    follows: false,
    fault: config.POOLED ? undefined : null,
    asked: false,
    used: false,
    reads: { answered: 0, empty: 0, failed: 0 },
    inFlight: new Set(),
  }));
  /** Of the last `maxLagMs`, the oldest first. */
  let positions: readonly Position[] = [];
  /** Which database of which server the primary's is, and its timeline. */
  let primary: Pick<Found, "identity" | "timeline"> | undefined;
  let passedOver = 0;
  let watching: Promise<void> | undefined;
  const stopping = new AbortController();

  const isUsable = ({ follows, caughtUpTo }: Replica) => follows && performance.now() - caughtUpTo <= maxLagMs;

  const questions = new Map(
    replicas.map((replica) => [
      replica,
      open("replication", { connections: 1, timeoutMs: Math.min(maxLagMs, LOOK_MS), server: replica.server }),
    ]),
  );

  /** Finds how far the primary has written its log. */
  async function lookAtPrimary(): Promise<void> {
    const at = performance.now();
    const { lsn, standby, ...found } = await findPosition(sql);
    // its place is not the newest
    if (standby) return;
    primary = found;
    positions = [...positions.filter((position) => at - position.at <= maxLagMs), { at, lsn }];
  }

  /** Finds how far a replica has replayed the log. */
  async function lookAt(replica: Replica): Promise<void> {
    const db = questions.get(replica)?.db;
    if (!db) return;
    const found = await findPosition(db);
    // places on another timeline are those of a server that was promoted besides, or of the primary before
    const isCopy = found.standby && found.identity === primary?.identity && found.timeline === primary.timeline;
    const reached = isCopy && positions.findLast(({ lsn }) => lsn <= found.lsn);
    if (reached) replica.caughtUpTo = Math.max(replica.caughtUpTo, reached.at);
    replica.follows = isCopy && (await mayBeUsed(replica, db));
  }

  /** Finds whether statements have what they need: a pooler in front of the replica may withhold it. */
  async function mayBeUsed(replica: Replica, db: Db): Promise<boolean> {
    if (replica.fault === null) return true;
    const fault = await findPoolerFault(db);
    if (fault !== null && fault !== replica.fault)
      log.warn({ replica: replica.name, error: fault }, "the replica cannot be used: reads go to others");
    replica.fault = fault;
    return fault === null;
  }

  /** A server that is frozen, or cut off, answers nothing, and refuses nothing. */
  function giveUp(replica: Replica): void {
    replica.follows = false;
    for (const reject of replica.inFlight) reject(connectionLost("the replica does not answer"));
  }

  const whileAnswering = <T>(replica: Replica, work: Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      replica.inFlight.add(reject);
      void work.then(resolve, reject).then(() => replica.inFlight.delete(reject));
    });

  async function ask(replica: Replica): Promise<void> {
    replica.asked = true;
    const late = setTimeout(() => giveUp(replica), LATE_MS);
    let error: string | undefined;
    try {
      await lookAt(replica);
    } catch (fault) {
      replica.follows = false;
      error = describeError(fault);
    }
    clearTimeout(late);
    replica.asked = false;
    const usable = isUsable(replica);
    if (usable === replica.used || stopping.signal.aborted) return;
    replica.used = usable;
    if (usable) log.info({ replica: replica.name }, "reads go to the replica");
    else log.warn({ replica: replica.name, error }, "the replica is away or behind: reads go to others");
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await lookAtPrimary().catch((error: unknown) =>
        log.debug({ error: describeError(error) }, "the primary's position is not known"),
      );
      for (const replica of replicas) if (!replica.asked) void ask(replica);
      await delay(Math.min(maxLagMs / 4, LOOK_MS), undefined, { ref: false, signal: stopping.signal }).catch(
        () => undefined,
      );
    }
  }

  /** Each client reads the same replica as long as the same ones can be used, so that it does not go back in time. */
  function choose(client: string): Replica | undefined {
    watching ??= watch();
    const usable = replicas.filter(isUsable);
    if (usable.length === 0) passedOver += 1;
    return usable[codeOf(client) % usable.length];
  }

  return {
    /**
     * Returns how the reads of one purpose are run for a client: on a replica, and on the primary when there is none, when it
     * fails, or when it has no row: what was written a moment ago is there.
     */
    reader(purpose: string, limits: PoolLimits, onPrimary: Run): (client: string) => Run {
      if (replicas.length === 0) return () => onPrimary;
      const pools = new Map(replicas.map((replica) => [replica, open(purpose, { ...limits, server: replica.server })]));
      return (client) =>
        async <T extends Rows>(...statement: Statement) => {
          const replica = choose(client);
          const pool = replica && pools.get(replica);
          if (!pool) return onPrimary<T>(...statement);
          try {
            const rows = await whileAnswering(replica, pool.run<T>(...statement));
            replica.reads[rows.length > 0 ? "answered" : "empty"] += 1;
            if (rows.length > 0) return rows;
          } catch (error) {
            replica.reads.failed += 1;
            const fault = faultOf(asDatabaseError(error));
            if (fault === "unreachable" || fault === "overloaded") replica.follows = false;
          }
          return onPrimary<T>(...statement);
        };
    },
    /** The state of each replica, and how many reads found none that could be used. */
    stats(): { replicas: ReplicaStats[]; passedOver: number } {
      if (replicas.length > 0) watching ??= watch();
      const now = performance.now();
      return {
        passedOver,
        replicas: replicas.map(({ name, caughtUpTo, reads }) => ({
          name,
          lagSeconds: (now - Math.max(caughtUpTo, beginning)) / 1_000,
          reads: { ...reads },
        })),
      };
    },
    /** Asks no more how far they are. */
    stop: () => stopping.abort(),
  };
}
