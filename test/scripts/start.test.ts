import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { z } from "zod";
import { compiled } from "../support/compiled.js";
import { scratchFolder } from "../support/scratch.js";
import { processesOf, startEverything, type Running } from "../support/start.js";
import { freePort } from "../../scripts/free-port.js";
import { until } from "../support/until.js";

let folder: string;
let port: number;
let address: string;

beforeEach(async () => {
  folder = await scratchFolder("start");
  port = await freePort();
  address = `http://127.0.0.1:${port}`;
});

afterEach(async () => {
  await killAll();
  await rm(folder, { recursive: true, force: true });
});

const Tokens = z.object({ accessToken: z.string() });

/** A running, migrated server, for tests that are not about the embedded one. */
const existing = { DATABASE_URL: String(process.env["DATABASE_URL"]) };

const startIt = (env: Record<string, string> = {}) => startEverything(folder, { PORT: String(port), ...env });

/** Kills every process of this test until none is left. */
const killAll = () =>
  until(async () => {
    const running = await processesOf(folder);
    running.forEach(kill);
    return running.length === 0;
  });

function kill({ pid }: Running): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has just ended
  }
}

const findProcess = async (program: string) =>
  (await processesOf(folder)).find(({ command }) => command.includes(program));

async function post(path: string, body: unknown): Promise<unknown> {
  const answer = await fetch(`${address}/api/v1${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

async function signIn(phone: string): Promise<string> {
  await post("/auth/otp/send", { phone });
  return Tokens.parse(await post("/auth/otp/verify", { phone, code: "000000" })).accessToken;
}

const profile = async (token: string) => {
  const answer = await fetch(`${address}/api/v1/users/me`, { headers: { authorization: `Bearer ${token}` } });
  return { status: answer.status, body: await answer.json() };
};

test("starts everything, prints the addresses, stops on Ctrl-C, leaves no process running and keeps its data and keys", async () => {
  const first = startIt();
  const greeting = await first.greeted;
  for (const part of [`:${port}/api/v1`, "/docs", "/admin/queues", "+79990000000", "000000", "CORS_ORIGINS"]) {
    expect(greeting).toContain(part);
  }
  const forScripts = parseEnv(await readFile(join(folder, "database.env"), "utf8"));
  expect(forScripts["DATABASE_URL"]).toContain("postgres://surplus_food:");
  // so that npm run check says where it really listens
  expect(forScripts).toMatchObject({ HOST: "127.0.0.1", PORT: String(port) });
  expect((await fetch(`${address}/readyz`)).status).toBe(200);
  const page = { origin: "http://192.168.1.20:5173" };
  const answer = await fetch(`${address}/api/v1/cities`, { headers: page });
  expect(answer.headers.get("access-control-allow-origin")).toBe(page.origin);
  expect((await stat(join(folder, "keys.env"))).mode & 0o777).toBe(0o600);
  const token = await signIn("+79991112233");
  const before = await profile(token);
  expect(before.status).toBe(200);

  first.process.kill("SIGINT");
  expect(await first.ended).toBe(0);
  expect(await processesOf(folder)).toEqual([]);
  expect(first.stderr).toBe("");

  // as written by an older version with fewer keys
  const keys = join(folder, "keys.env");
  const made = (await readFile(keys, "utf8")).split("\n");
  await writeFile(keys, made.filter((line) => !line.startsWith("VAPID_")).join("\n"));
  const second = startIt();
  await second.greeted;
  expect(await profile(token)).toEqual(before);
  const kept = await readFile(keys, "utf8");
  for (const line of made.filter((line) => !line.startsWith("VAPID_"))) expect(kept).toContain(line);
  expect(kept).toMatch(/^VAPID_PUBLIC_KEY='[\w-]{87}'$/m);
  second.process.kill("SIGTERM");
  expect(await second.ended).toBe(0);
  expect(await processesOf(folder)).toEqual([]);
});

test("npm run dev runs the TypeScript source, says where the serving process can be debugged, and restarts on a change", async () => {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  // another checkout's debugger
  const usual = createServer()
    .on("error", () => undefined)
    .listen(9_229, "127.0.0.1");
  const env = { PORT: String(port), WEB_CONCURRENCY: "2", ...existing };
  const started = startEverything(folder, env, ["--import", tsx, join(root, "scripts/start.ts")]);
  const [, inspector = ""] = /Debugger +API (\S+), worker \S+\n/.exec(await started.greeted) ?? [];
  expect(inspector).not.toMatch(/:9229$/);
  const debugged = async () => (await fetch(`http://${inspector}/json/list`)).text();
  expect(await debugged()).toContain("api/server");
  expect((await processesOf(folder)).filter(({ command }) => command.includes("api/server"))).toHaveLength(1);
  const before = await findProcess("api/server");
  const now = new Date();
  await utimes(join(root, "sql/functions/boxes.sql"), now, now);
  await until(() => started.stdout.includes("sql/functions/boxes.sql changed; restarting."));
  await until(async () => {
    const api = await findProcess("api/server");
    return api !== undefined && api.pid !== before?.pid && (await fetch(`${address}/readyz`).catch(() => null))?.ok;
  });
  expect(await debugged()).toContain("api/server");
  started.process.kill("SIGINT");
  expect(await started.ended).toBe(0);
  expect(await processesOf(folder)).toEqual([]);
  usual.close();
});

test("its processes end when it is killed, and the next start takes over Postgres or starts it again", async () => {
  const first = startIt();
  await first.greeted;
  const token = await signIn("+79991112233");
  first.process.kill("SIGKILL");
  await until(async () => !(await findProcess("api/server")) && !(await findProcess("workers/main")));

  const second = startIt();
  await second.greeted;
  expect((await profile(token)).status).toBe(200);

  // Postgres included
  await killAll();
  const third = startIt();
  await third.greeted;
  expect((await profile(token)).status).toBe(200);
  third.process.kill("SIGINT");
  expect(await third.ended).toBe(0);
  expect(await processesOf(folder)).toEqual([]);
});

test("uses the Postgres that DATABASE_URL names, and restarts a process that dies", async () => {
  const started = startIt(existing);
  await started.greeted;
  const programs = ["workers/main", "api/server"];
  const before = await Promise.all(programs.map(findProcess));
  for (const process of before) {
    if (!process) throw new Error("not everything is running");
    kill(process);
  }
  await until(async () => {
    const now = await Promise.all(programs.map(findProcess));
    return now.every((process, place) => process !== undefined && process.pid !== before[place]?.pid);
  });
  await until(async () => (await fetch(`${address}/readyz`).catch(() => null))?.ok);
  expect(await profile(await signIn("+79991112233"))).toMatchObject({ status: 200 });
  expect(existsSync(join(folder, "postgres"))).toBe(false);
  started.process.kill("SIGINT");
  expect(await started.ended).toBe(0);
});

test("scripts find the way around its pooler, unless they are for another database", async () => {
  const around = { DATABASE_DIRECT_URL: `${existing.DATABASE_URL}?application_name=around`, DATABASE_PREPARE: "0" };
  const started = startIt({ ...existing, ...around });
  await started.greeted;
  const addresses = async (env: Record<string, string>) => {
    const print = `await import(${JSON.stringify(pathToFileURL(compiled("scripts/environment.ts")))});
      const { DATABASE_URL, DATABASE_DIRECT_URL } = process.env;
      console.log(JSON.stringify({ DATABASE_URL, DATABASE_DIRECT_URL }));`;
    const script = startEverything(folder, env, ["--input-type=module", "-e", print]);
    expect(await script.ended).toBe(0);
    return z.record(z.string(), z.string()).parse(JSON.parse(script.stdout));
  };
  expect(await addresses({})).toEqual({ ...existing, DATABASE_DIRECT_URL: around.DATABASE_DIRECT_URL });
  const other = { DATABASE_URL: "postgres://localhost:1/name" };
  expect(await addresses(other)).toEqual({ ...other, DATABASE_DIRECT_URL: "" });
  expect(parseEnv(await readFile(join(folder, "database.env"), "utf8"))).toMatchObject({ ...existing, ...around });
  started.process.kill("SIGINT");
  expect(await started.ended).toBe(0);
});

test("a second signal kills what does not stop in order", async () => {
  const started = startIt(existing);
  await started.greeted;
  const api = await findProcess("api/server");
  if (!api) throw new Error("the API is not running");
  process.kill(api.pid, "SIGSTOP");
  await until(() => {
    started.process.kill("SIGINT");
    return started.process.exitCode !== null;
  });
  await started.ended;
  expect(await processesOf(folder)).toEqual([]);
});

test("refuses a second start on the same data, and the first keeps running", async () => {
  const first = startIt();
  await first.greeted;
  const second = startIt({ PORT: String(await freePort()) });
  expect(await second.ended).toBe(1);
  expect(second.stderr).toMatch(/^[^\n]*DATA_DIR[^\n]*\n$/);
  const connection = await readFile(join(folder, "database.env"), "utf8");
  const third = startIt({ PORT: String(await freePort()), DATABASE_URL: "postgres://localhost:1/name" });
  expect(await third.ended).toBe(1);
  expect(await readFile(join(folder, "database.env"), "utf8")).toBe(connection);
  expect((await fetch(`${address}/readyz`)).status).toBe(200);
});

test("names a port in use in one line, before it starts anything", async () => {
  const other = createServer().listen(port, "0.0.0.0");
  await once(other, "listening");
  const started = startIt();
  expect(await started.ended).toBe(1);
  other.close();
  expect(started.stderr).toBe(`PORT ${port} is in use by another program; PORT=0 takes a free one.\n`);
  expect(existsSync(join(folder, "postgres"))).toBe(false);
});

test.each([
  [{ DEFAULT_TIMEZONE: "Mars/Olympus" }, "DEFAULT_TIMEZONE"],
  [{ DATABASE_URL: "mysql://localhost/name" }, "DATABASE_URL"],
  [{ SIGNING_KEYS: "[]" }, "SIGNING_KEYS"],
  [
    {
      NODE_ENV: "production",
      PUBLIC_URL: "https://api.test",
      SMS_SENDER: "http",
      SMS_HTTP_URL: "https://sms.test",
      METRICS_TOKEN: "a long secret",
      OTP_FIXED_CODE: "123456",
    },
    "OTP_FIXED_CODE",
  ],
  [{ WORKER_CONCURRENCY: "nonsense=3" }, "nonsense"],
  [{ DATABASE_URL: "postgres://localhost:1/name" }, "DATABASE_URL"],
  [
    { DATABASE_URL: "", DATABASE_DIRECT_URL: "postgres://localhost:1/name" },
    "DATABASE_URL is missing; DATABASE_DIRECT_URL is set",
  ],
  [{ DATA_DIR: "/etc/passwd" }, "DATA_DIR /etc/passwd cannot be used: a part of the path is a file"],
  [{ STORAGE_DIR: "/etc/passwd" }, "STORAGE_DIR /etc/passwd cannot be used: a part of the path is a file"],
  [{ STORAGE_DIR: "/proc/nope/files" }, "STORAGE_DIR /proc/nope/files cannot be used: no folder can be made there"],
  [{ DATA_DIR: "/proc/nope" }, "DATA_DIR /proc/nope cannot be used: no folder can be made there"],
])("names an invalid variable in one line: %j", async (env, named) => {
  const started = startIt({ ...existing, ...env });
  expect(await started.ended).toBe(1);
  expect(started.stderr).toMatch(/^[^\n]+\n$/);
  expect(started.stderr).toContain(named);
  expect(await processesOf(folder)).toEqual([]);
});
