import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import pg from "pg";
import { newVapidKeys } from "../../lib/process/push-keys.js";
import { startGeocoder } from "../support/geocoder.js";
import { describeWithPgbouncer, keepsPrepared, startPgbouncer, type TestPooler } from "../support/pgbouncer.js";
import { complaints, ended, startProcess } from "../support/processes.js";
import { startFcm } from "../support/push/fcm.js";
import { describeWithRedis, startClusterNode, startRedis, type TestRedis } from "../support/redis.js";
import { runScript } from "../support/run-script.js";
import { startS3 } from "../support/s3.js";
import { startSilentServers } from "../support/silent-servers.js";
import { startSmsGateway } from "../support/sms-gateway.js";

const [s3, sms, fcm, geocoder] = await Promise.all([startS3(), startSmsGateway(), startFcm(), startGeocoder()]);
geocoder.places.set("Москва, Красная площадь, 1", { latitude: 55.75, longitude: 37.62 });

afterAll(() => Promise.all([s3.stop(), sms.stop(), fcm.stop(), geocoder.stop()]));

const everything = {
  NODE_ENV: "development",
  S3_BUCKET: s3.bucket,
  S3_REGION: s3.region,
  S3_ENDPOINT: s3.endpoint,
  S3_ACCESS_KEY_ID: s3.accessKeyId,
  S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
  SMS_SENDER: "http",
  SMS_HTTP_URL: `${sms.url}/send?to={phone}`,
  FCM_SERVICE_ACCOUNT: fcm.serviceAccount,
  GEOCODER: "openstreetmap",
  GEOCODER_URL: geocoder.url,
  ...newVapidKeys(),
};

/** The rows of the table: name, result and what was found. */
async function check(env: Record<string, string>, args: string[] = []) {
  const { code, output } = await runScript("check/main", args, env);
  const rows = output.matchAll(/^(\S.*?) {2,}(ok|-|warning|FAILED) +(.+)$/gm);
  return { code, output, rows: [...rows].map(([, name = "", result = "", details = ""]) => [name, result, details]) };
}
const rowOf = async (name: string, env: Record<string, string>) =>
  (await check({ ...everything, ...env })).rows.find(([row]) => row === name);

test("what is configured and works is listed, and nothing stays behind or is sent", async () => {
  const { code, rows } = await check(everything);
  expect(rows.map(([name, result]) => [name, result])).toEqual(
    "Configuration Postgres Pooler Rights Migrations Clock Queues Files SMS Push,·FCM Push,·Web Geocoder"
      .split(" ")
      .map((name) => [name.replace("·", " "), "ok"]),
  );
  expect(code).toBe(0);
  expect(s3.objects.size).toBe(0);
  expect(sms.received.map(({ method }) => method)).toEqual(["HEAD"]);
});

test("what is not configured is no fault", async () => {
  const { code, rows } = await check({ NODE_ENV: "development" });
  expect(code).toBe(0);
  expect(rows.filter(([, result]) => result === "-").map(([name]) => name)).toEqual([
    "SMS",
    "Push, FCM",
    "Push, Web",
    "Geocoder",
  ]);
});

test("an SMS is sent to the given phone only", async () => {
  sms.received.splice(0);
  await check(everything, ["--phone", "+79991234567"]);
  expect(sms.received).toMatchObject([{ method: "POST", url: expect.stringContaining("79991234567") }]);
  expect(await check(everything, ["--phone", "me"])).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^Usage: [^\n]+\n$/),
  });
});

test("what does not work is named, without secrets, and fails the check", async () => {
  s3.failNext("DeleteObject", { status: 403, code: "AccessDenied" });
  fcm.answerTokensWith({ status: 401, headers: {}, body: "{}" });
  geocoder.fail(500);
  const { code, output, rows } = await check({
    ...everything,
    DATABASE_URL: "postgres://app:hunter2@127.0.0.1:1/name",
    SMS_HTTP_URL: "http://127.0.0.1:1/send?key=hunter2",
  });
  geocoder.fail(null);
  expect(code).toBe(1);
  expect(output).not.toContain("hunter2");
  expect(rows.filter(([, result]) => result === "FAILED").map(([name]) => name)).toEqual([
    "Postgres",
    "Queues",
    "Files",
    "SMS",
    "Push, FCM",
    "Geocoder",
  ]);
});

test("a Postgres that takes connections and never answers is named, and waited for no longer than a check may take", async () => {
  const silent = await startSilentServers(1);
  const DATABASE_URL = `postgres://app@${silent.urls[0]?.slice("http://".length)}/name`;
  const found = ["Postgres", "FAILED", expect.stringContaining("did not answer in time")];
  expect(await rowOf("Postgres", { DATABASE_URL, DATABASE_TIMEOUT_MS: "1000" })).toEqual(found);
  await silent.stop();
});

test("warnings of the configuration have rows of their own", async () => {
  const { code, rows } = await check({ NODE_ENV: "" });
  expect(code).toBe(0);
  expect(rows[1]).toEqual(["Configuration", "warning", expect.stringContaining("NODE_ENV is not set")]);
});

test("a clock that is wrong is noticed", async () => {
  const slow = (ms: number) => `--import=data:text/javascript,const{now}=Date;Date.now=()=>now()-${ms}`;
  const found = (result: string) => ["Clock", result, expect.stringMatching(/differs from Postgres's by \d+\.\d s$/)];
  expect(await rowOf("Clock", { NODE_OPTIONS: slow(30_000) })).toEqual(found("warning"));
  expect(await rowOf("Clock", { NODE_OPTIONS: slow(3_600_000) })).toEqual(found("FAILED"));
});

test("a Redis that is down has its row, and nothing is printed beside the table", async () => {
  const { code, output, rows } = await check({
    NODE_ENV: "development",
    LOG_LEVEL: "info",
    REDIS_URL: "redis://127.0.0.1:1",
  });
  expect(code).toBe(1);
  expect(rows.filter(([, result]) => result === "FAILED").map(([name]) => name)).toEqual(["Queues"]);
  // the two lines of the table's head are no rows
  expect(output.trimEnd().split("\n")).toHaveLength(2 + rows.length);
});

describeWithRedis("a Redis", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  test("must not evict jobs", async () => {
    const env = { REDIS_URL: redis.url };
    expect(await rowOf("Queues", env)).toEqual(["Queues", "ok", expect.stringContaining("Redis ")]);
    const client = new Redis(redis.url);
    await client.config("SET", "maxmemory-policy", "allkeys-lru");
    client.disconnect();
    expect(await rowOf("Queues", env)).toEqual(["Queues", "FAILED", expect.stringContaining("must be noeviction")]);
  });

  test("that is a node of a cluster must not be named alone", async () => {
    const node = await startClusterNode();
    const words = "REDIS_URL names one node of a cluster and must begin with redis+cluster:";
    expect(await rowOf("Queues", { REDIS_URL: node.url })).toEqual([
      "Queues",
      "FAILED",
      expect.stringContaining(words),
    ]);
    const worker = startProcess("worker.ts", [], { REDIS_URL: node.url });
    expect(await complaints(worker)).toBe(`${words}\n`);
    expect(await ended(worker)).toMatchObject({ code: 1 });
    await node.stop();
  });
});

describeWithPgbouncer("a pooler", () => {
  const passed = "statement_timeout,idle_in_transaction_session_timeout,client_min_messages,options";

  test.each<["transaction" | "session", string, string, string, string]>([
    ["transaction", passed, "Pooler", "FAILED", "by transaction"],
    ["session", passed, "Pooler", "ok", "by session"],
    ["session", passed, "Postgres", "FAILED", "statement_timeout has no effect"],
    ["session", "", "Postgres", "FAILED", "unsupported startup parameter"],
  ])("by %s that drops [%s] shows in %s: %s, %s", async (mode, dropped, row, result, words) => {
    const pooler = await startPgbouncer(String(process.env["DATABASE_URL"]), { mode, dropped });
    try {
      expect(await rowOf(row, { DATABASE_URL: pooler.url })).toEqual([row, result, expect.stringContaining(words)]);
    } finally {
      await pooler.stop();
    }
  });
});

describeWithPgbouncer("a pooler by transaction with DATABASE_DIRECT_URL", () => {
  const directUrl = String(process.env["DATABASE_URL"]);
  let env: Record<string, string>;
  let pooler: TestPooler;
  beforeAll(async () => {
    pooler = await startPgbouncer(directUrl);
    env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: directUrl, DATABASE_PREPARE: keepsPrepared ? "1" : "0" };
  });
  afterAll(() => pooler.stop());

  const poolerRow = async (more: Record<string, string> = {}) => (await rowOf("Pooler", { ...env, ...more }))?.slice(1);
  const refused = (words: string) => ["FAILED", expect.stringContaining(words)];

  test("needs the timeouts that migrate sets, and prepared statements or none", async () => {
    expect(await poolerRow()).toEqual(refused("through the pooler statement_timeout is 0"));
    expect(await runScript("migrate", [], env)).toMatchObject({ code: 0 });
    await pooler.kill();
    await pooler.restart();
    expect(await poolerRow()).toEqual(["ok", "a pooler, by transaction, with the timeouts of the configuration"]);
    expect(await rowOf("Postgres", env)).toEqual(["Postgres", "ok", expect.stringContaining("beside the pooler")]);
    if (!keepsPrepared)
      expect(await poolerRow({ DATABASE_PREPARE: "1" })).toEqual(refused("the pooler loses prepared statements"));
  });

  test("needs a way around it to the same database", async () => {
    const around = (url: string) => poolerRow({ DATABASE_DIRECT_URL: url });
    expect(await around(`${pooler.url}?application_name=other`)).toEqual(refused("must be Postgres itself"));
    const other = Object.assign(new URL(directUrl), { pathname: "/template1" }).href;
    expect(await around(other)).toEqual(refused("are different databases"));
  });
});

describe("rights", () => {
  test("that are missing are named", async () => {
    const url = new URL(String(process.env["DATABASE_URL"]));
    const admin = new pg.Client({ connectionString: url.href });
    await admin.connect();
    const role = `reader_${url.pathname.slice(1)}`;
    await admin.query(`create role ${role} login password 'secret'`);
    try {
      const DATABASE_URL = Object.assign(new URL(url), { username: role, password: "secret" }).href;
      expect(await rowOf("Rights", { DATABASE_URL })).toEqual([
        "Rights",
        "FAILED",
        `${role} may not create in the schema public, nor own its tables`,
      ]);
    } finally {
      await admin.query(`drop role ${role}`);
      await admin.end();
    }
  });
});
