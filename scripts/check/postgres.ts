import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { config } from "../../lib/process/config.js";
import { describeError } from "../../lib/process/describe-error.js";
import { askServers, describeAnswer, findPrimary } from "../../lib/process/find-primary.js";
import { pgOptions, readDatabaseUrl, splitServers, type ServerAddress } from "../../lib/process/server-address.js";
import { withTimeout } from "../../lib/process/with-timeout.js";
import { sql } from "../../sql/db.js";
import { openPool } from "../../sql/driver/pool.js";
import { contracts } from "../../queues/index.js";
import { findPosition, nameOf } from "../../sql/driver/replicas.js";
import { findPoolerFault } from "../../sql/driver/session-settings.js";
import type { Db } from "../../sql/driver/tag.js";
import { pendingMigrations } from "../../sql/migrations.js";
import { failed, LIMIT_MS, ok, warning, type Check, type Finding } from "./finding.js";

const OLDEST_SERVER = 15;
/** BullMQ's, when it lives in Postgres: 5 to add jobs, and one for each queue and 10 more for workers (queues/broker.ts). */
const OF_BULLMQ = config.REDIS === null ? 5 + contracts.length + 10 : 0;
/** Those of a process besides DATABASE_POOL: look-ups 2, searches 2, batches 4 and long statements 2 (sql/db.ts). */
const OF_FURTHER_POOLS = 10;
/** Connections to Postgres that a process may open, with one for signals; a pooler has a limit of its own. */
export const mostConnections = (config.POOLED ? 0 : 3 * config.DATABASE_POOL + OF_FURTHER_POOLS) + 1 + OF_BULLMQ;
/** An access token is valid for 15 minutes, a signed address to S3 must be at most 15 minutes old. */
const MOST_SKEW_MS = 60_000;
const WORTH_A_WARNING_MS = 2_000;
/** How long a replica may take to answer, and to replay what the primary had written when this began. */
const REPLICA_MS = LIMIT_MS / 3;

async function withClient<T>(
  work: (client: pg.Client) => Promise<T>,
  databaseUrl = config.DATABASE_DIRECT_URL,
): Promise<T> {
  const address = readDatabaseUrl(await findPrimary(databaseUrl));
  const client = new pg.Client({ ...pgOptions(address), application_name: "check" });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const one = async <Row extends pg.QueryResultRow>(client: pg.Client, text: string): Promise<Row> => {
  const [row] = (await client.query<Row>(text)).rows;
  if (row === undefined) throw new Error("Postgres answered without a row");
  return row;
};

function serverFinding(server: { version: string; number: number; max: number; ssl: boolean; name: string }): Finding {
  const facts = `Postgres ${server.version}, database ${server.name}, ${server.ssl ? "over TLS" : "not encrypted"}`;
  const room = `max_connections is ${server.max}, a process takes up to ${mostConnections}${config.POOLED ? " beside the pooler" : ""}`;
  if (server.number < OLDEST_SERVER * 10_000) return failed(`${facts}: version ${OLDEST_SERVER} or later is needed`);
  // an API process and a worker
  return server.max < 2 * mostConnections ? warning(`${facts}; ${room}`) : ok(`${facts}; ${room}`);
}

/** Whether statements have the timeout that a session begins with; as the API and the workers connect. */
async function hasTimeout(): Promise<boolean> {
  const timeout = await sql<{ ms: number | null }[]>`
    select setting::integer as ms from pg_settings where name = 'statement_timeout'`;
  return timeout[0]?.ms === config.DATABASE_TIMEOUT_MS;
}

async function findServer(): Promise<Finding> {
  if (!config.POOLED && !(await hasTimeout()))
    return failed(
      "statement_timeout has no effect: a pooler must pass on the parameters that a session begins with, or DATABASE_DIRECT_URL be set",
    );
  return withClient(async (client) =>
    serverFinding(
      await one(
        client,
        `select current_setting('server_version') as version, current_setting('server_version_num')::integer as number,
          current_setting('max_connections')::integer as max, current_database() as name,
          coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as ssl`,
      ),
    ),
  );
}

/** A row for each server of an address of several. */
async function findServers(): Promise<Finding[]> {
  const answers = await askServers(config.DATABASE_DIRECT_URL);
  const latest = Math.max(...answers.map(({ role }) => role?.timeline ?? 0));
  return answers.map((answer) => {
    const words = describeAnswer(answer);
    if (answer.role === undefined) return warning(words);
    if (answer.role.timeline === null) return ok(words);
    if (answer.role.timeline === latest) return ok(words);
    return failed(`${words}: stop it, as another was promoted`);
  });
}

async function findRights(): Promise<Finding> {
  const { user, missing } = await withClient((client) =>
    one<{ user: string; missing: string[] }>(
      client,
      `select current_user as user, array_remove(array[
        case when not has_schema_privilege('public', 'create') then 'create in the schema public' end,
        case when ${config.REDIS === null} and not exists (select from pg_namespace where nspname = 'bullmq')
          and not has_database_privilege(current_database(), 'create') then 'create schemas (BullMQ''s)' end,
        case when exists (select from pg_tables where schemaname = 'public' and not pg_has_role(tableowner, 'usage'))
          then 'own its tables' end
      ], null)::text[] as missing`,
    ),
  );
  return missing.length === 0 ? ok(`${user} may migrate`) : failed(`${user} may not ${missing.join(", nor ")}`);
}

async function findMigrations(): Promise<Finding> {
  const pending = await pendingMigrations(sql);
  return pending.length === 0 ? ok("all applied") : warning(`${pending.length} to apply: run the process release`);
}

/**
 * A pooler gives its clients a process id of its own. When each transaction may run in another session, two that overlap show
 * it: LISTEN, advisory locks and prepared statements are lost between them.
 */
async function findPoolerOf(databaseUrl: string): Promise<"none" | "by session" | "by transaction"> {
  const sessionOf = async (client: pg.Client) =>
    (await one<{ pid: number }>(client, "select pg_backend_pid() as pid")).pid;
  const compare = (first: pg.Client) => async (second: pg.Client) => {
    const before = await sessionOf(first);
    // the id that the client was given when it connected; the types of `pg` leave it out
    if (Reflect.get(first, "processID") === before) return "none";
    await second.query("begin");
    return (await sessionOf(second)) === before || (await sessionOf(first)) !== before
      ? "by transaction"
      : "by session";
  };
  return withClient((first) => withClient(compare(first), databaseUrl), databaseUrl);
}

/** Tells one database of one server from any other. */
const placeOf = (databaseUrl: string) =>
  withClient(
    (client) =>
      one<{ place: string }>(
        client,
        "select concat(extract(epoch from pg_postmaster_start_time()), current_database()) as place",
      ),
    databaseUrl,
  );

async function findPooler(): Promise<Finding> {
  const kind = await findPoolerOf(config.DATABASE_URL);
  const words = kind === "none" ? kind : `a pooler, ${kind}`;
  if (!config.POOLED)
    return kind === "by transaction" ? failed(`${words}: set DATABASE_DIRECT_URL to Postgres itself`) : ok(words);
  if ((await findPoolerOf(config.DATABASE_DIRECT_URL)) === "by transaction")
    return failed("DATABASE_DIRECT_URL is a pooler by transaction: it must be Postgres itself");
  const [through, direct] = [await placeOf(config.DATABASE_URL), await placeOf(config.DATABASE_DIRECT_URL)];
  if (through.place !== direct.place) return failed("DATABASE_URL and DATABASE_DIRECT_URL are different databases");
  const fault = await findPoolerFault(sql);
  return fault === null ? ok(`${words}, with the timeouts of the configuration`) : failed(fault);
}

const inSeconds = (ms: number): string => `${ms < 100 ? "less than 0.1" : (ms / 1_000).toFixed(1)} s`;

/** Says how far a replica is behind, by the service's measure, or why reads pass it over. */
async function measureReplica(replica: Db): Promise<Finding> {
  const copy = await findPosition(replica);
  const begin = performance.now();
  const primary = await findPosition(sql);
  if (copy.identity !== primary.identity) return warning("is no copy of the database in DATABASE_URL");
  if (!copy.standby) return warning("is a primary, not a replica");
  if (copy.timeline !== primary.timeline)
    return warning(`follows timeline ${copy.timeline}, and the primary is on ${primary.timeline}: reads go to others`);
  const limit = Math.min(config.DATABASE_REPLICA_MAX_LAG_MS, REPLICA_MS);
  while ((await findPosition(replica)).lsn < primary.lsn) {
    if (performance.now() - begin > limit)
      return warning(`is more than ${inSeconds(limit)} behind: reads go to others`);
    await delay(20);
  }
  return ok(`follows, ${inSeconds(performance.now() - begin)} behind`);
}

async function findReplica(server: ServerAddress): Promise<Finding> {
  const { db, close } = openPool("check", { connections: 1, server });
  const work = async () => {
    const finding = await measureReplica(db);
    if (!config.POOLED || finding.result !== "ok") return finding;
    const fault = await findPoolerFault(db);
    return fault === null ? ok(`${finding.details}, with the timeouts of the configuration`) : warning(fault);
  };
  try {
    const { result, details } = await withTimeout(2 * REPLICA_MS, work());
    return { result, details: `${nameOf(server)} ${details}` };
  } catch (error) {
    return warning(`${nameOf(server)} cannot be used (${describeError(error)})`);
  } finally {
    void close();
  }
}

async function findSkew(): Promise<Finding> {
  const before = Date.now();
  const { now } = await withClient((client) => one<{ now: Date }>(client, "select clock_timestamp() as now"));
  const after = Date.now();
  const skew = now.getTime() < before ? before - now.getTime() : Math.max(0, now.getTime() - after);
  const details = `this machine's clock differs from Postgres's by ${inSeconds(skew)}`;
  if (skew > MOST_SKEW_MS) return failed(details);
  return skew > WORTH_A_WARNING_MS ? warning(details) : ok(details);
}

/** Checks what needs Postgres; without it there is one finding. */
export async function postgresChecks(): Promise<Check[]> {
  const orFailed = (finding: Promise<Finding>) => finding.catch((error: unknown) => failed(describeError(error)));
  const [server, reached] = await Promise.all([
    orFailed(findServer()),
    withClient(() => Promise.resolve(true)).catch(() => false),
  ]);
  const first: Check = { name: "Postgres", find: () => Promise.resolve(server) };
  const several = splitServers(config.DATABASE_DIRECT_URL).length > 1;
  const servers: Check[] = several ? [{ name: "Postgres servers", find: findServers }] : [];
  if (!reached) return [first, ...servers];
  // alone: beside other clients a pooler may give each transaction the session of the one before by chance
  const pooler = await orFailed(withTimeout(LIMIT_MS, findPooler()));
  return [
    first,
    ...servers,
    { name: "Pooler", find: () => Promise.resolve(pooler) },
    ...config.REPLICAS.map((server) => ({ name: "Replicas", find: () => findReplica(server) })),
    { name: "Rights", find: findRights },
    { name: "Migrations", find: findMigrations },
    { name: "Clock", find: findSkew },
  ];
}
