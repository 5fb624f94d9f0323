import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { afterAll, afterEach, expect, test } from "@jest/globals";
import { config } from "../../lib/process/config.js";
import { version } from "../../lib/process/version.js";
import { closeDatabase } from "../../sql/db.js";
import { Client } from "../support/api.js";
import { user } from "../support/cast.js";
import { compiled } from "../support/compiled.js";
import { countBlocked, lockRows } from "../support/locks.js";
import { alive, childrenOf, ended } from "../support/processes.js";
import { freePort } from "../../scripts/free-port.js";
import { until } from "../support/until.js";

interface Running {
  process: ChildProcess;
  url: string;
  port: number;
  /** Its output so far. */
  said: { out: string; err: string };
}

const started: ChildProcess[] = [];

/** Runs a program of the service with an IPC channel to this process; it stops when the channel closes. */
function run(program: string, env: Record<string, string> = {}): { process: ChildProcess; said: Running["said"] } {
  const child = fork(compiled(`${program}.ts`), {
    // tokens are issued for this address, whatever the port
    env: { ...process.env, HOST: "127.0.0.1", PUBLIC_URL: config.PUBLIC_URL, LOG_LEVEL: "info", ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const said = { out: "", err: "" };
  child.stdout?.on("data", (text: Buffer) => (said.out += text.toString()));
  child.stderr?.on("data", (text: Buffer) => (said.err += text.toString()));
  started.push(child);
  return { process: child, said };
}

async function startServer(env: Record<string, string> = {}): Promise<Running> {
  const port = await freePort();
  const running = run("api/server", { PORT: String(port), ...env });
  await once(running.process, "message");
  return { ...running, port, url: `http://127.0.0.1:${port}` };
}

/** Runs a program that must not start; returns its exit code and its output. */
async function failedStart(
  program: string,
  env: Record<string, string>,
): Promise<{ code: number | null; err: string }> {
  const { process, said } = run(program, env);
  await once(process, "close");
  return { code: process.exitCode, err: said.err };
}

/** A request that the server keeps processing until `release` is called. */
async function requestInFlight({ url }: Running) {
  const someone = await user(new Client(url));
  const release = await lockRows((tx) => tx`select id from users where id = ${someone.id}::uuid for update`);
  const reply = someone.client.put("/api/v1/users/me", { firstName: "Вера" });
  // awaited later; an earlier failure must not be unhandled
  reply.catch(() => undefined);
  await until(async () => (await countBlocked()) === 1);
  return { reply, release };
}

const stopping = ({ said }: Running) => until(() => said.out.includes('"msg":"stopping"'));

afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await ended(child);
  }
});
afterAll(closeDatabase);

/** Waits for an orderly end of the server, with nothing aborted. */
async function endedInOrder({ process, said }: Running): Promise<void> {
  await once(process, "close");
  expect(process.exitCode).toBe(0);
  expect(said.out).toContain('"msg":"stopped"');
  expect(said.out).not.toMatch(/aborted|cut short/);
}

test("the first line of the log names the version", async () => {
  const { said } = await startServer();
  expect(said.out).toMatch(new RegExp(`^{.*"version":"${version}".*"msg":"the API is listening"`));
});

test("SIGTERM finishes the request in flight, accepts no new one, and exits with 0", async () => {
  const server = await startServer();
  const { reply, release } = await requestInFlight(server);
  server.process.kill("SIGTERM");
  await stopping(server);
  await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  expect(server.process.exitCode).toBeNull();
  const closed = endedInOrder(server);
  await release();
  expect(await reply).toMatchObject({ status: 200, body: { firstName: "Вера" } });
  await closed;
});

test("idle keep-alive connections do not delay a stop", async () => {
  const server = await startServer();
  const agent = new Agent({ keepAlive: true });
  const [answer] = (await once(get(`${server.url}/healthz`, { agent }), "response")) as [IncomingMessage];
  await answer.resume().toArray();
  expect(answer.headers.connection).toBe("keep-alive");
  server.process.kill("SIGTERM");
  await endedInOrder(server);
  agent.destroy();
});

test.each([
  ["half of", "0"],
  ["behind a proxy all", "1"],
])("one address gets %s the connections, and what it closes is free again", async (_what, TRUST_PROXY) => {
  const server = await startServer({ MAX_CONNECTIONS: "4", TRUST_PROXY });
  const open = async (localAddress = "127.0.0.1") => {
    const socket = connect({ port: server.port, host: "127.0.0.1", localAddress });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    const [answer] = await Promise.race([
      once(socket, "data").catch(() => [""]),
      once(socket, "close").then(() => [""]),
    ]);
    return { socket, isOpen: String(answer).startsWith("HTTP/1.1 200") };
  };
  const own = TRUST_PROXY === "0" ? 2 : 4;
  const opened = [];
  for (let n = 0; n < own; n += 1) opened.push(await open());
  expect(opened.every(({ isOpen }) => isOpen)).toBe(true);
  expect((await open()).isOpen).toBe(false);
  for (let n = own; n < 4; n += 1) {
    const other = await open("127.0.0.2");
    expect(other.isOpen).toBe(true);
    opened.push(other);
  }
  for (const address of ["127.0.0.2", "127.0.0.3"]) expect((await open(address)).isOpen).toBe(false);
  opened[0]?.socket.destroy();
  await until(async () => (await open()).isOpen);
  for (const { socket } of opened) socket.destroy();
});

test("a second signal ends the process at once", async () => {
  const server = await startServer();
  const { reply, release } = await requestInFlight(server);
  server.process.kill("SIGTERM");
  await stopping(server);
  server.process.kill("SIGTERM");
  expect(await ended(server.process)).toEqual({ code: 1, signal: null });
  await expect(reply).rejects.toThrow();
  await release();
});

test.each(["1", "2"])("a port in use is reported in one line, by any number of processes (%s)", async (processes) => {
  const squatter = createServer().listen(0, "127.0.0.1");
  await once(squatter, "listening");
  const address = squatter.address();
  const port = String(typeof address === "object" ? address?.port : address);
  expect(await failedStart("api/server", { PORT: port, WEB_CONCURRENCY: processes })).toEqual({
    code: 1,
    err: `PORT ${port} is in use by another program.\n`,
  });
  expect(await failedStart("workers/main", { WORKER_METRICS_PORT: port })).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^The worker cannot serve its metrics on WORKER_METRICS_PORT \d+: .*EADDRINUSE.*\n$/),
  });
  squatter.close();
});

test("invalid variables are reported at once, a line each", async () => {
  for (const program of ["api/server", "workers/main"]) {
    const { code, err } = await failedStart(program, { PORT: "many", DATABASE_URL: "mysql://secret@host" });
    expect(code).toBe(1);
    expect(err).toMatch(/^Wrong configuration:\n {2}PORT .*\n {2}DATABASE_URL .*\n$/);
    expect(err).not.toContain("secret");
  }
});

test("what may not be meant is warned of at the start, once for all processes", async () => {
  const { said } = await startServer({ NODE_ENV: "", WEB_CONCURRENCY: "2" });
  await until(() => said.out.split("the API is listening").length - 1 === 2);
  expect(said.out.match(/"level":"warn".*NODE_ENV is not set/g)).toHaveLength(1);
  const worker = run("workers/main", { NODE_ENV: "" });
  await once(worker.process, "message");
  expect(worker.said.out.match(/"level":"warn".*NODE_ENV is not set/g)).toHaveLength(1);
});

test("a proxy in front that TRUST_PROXY does not count is warned of once", async () => {
  const warnings = async (env: Record<string, string>) => {
    const { url, said } = await startServer(env);
    for (const headers of [{}, { "x-forwarded-for": "192.0.2.1" }, { "x-forwarded-for": "192.0.2.2" }])
      await fetch(`${url}/api/v1/cities`, { headers });
    return said.out.split("TRUST_PROXY is 0").length - 1;
  };
  expect(await warnings({})).toBe(1);
  expect(await warnings({ TRUST_PROXY: "1" })).toBe(0);
});

test.each([
  ["/dev/null", "a part of the path is a file"],
  ["/proc/nope", "no folder can be made there"],
])("unusable storage, %s, is reported at the start, and the rest is still served", async (folder, why) => {
  const { url, said } = await startServer({ STORAGE_DIR: folder });
  await until(() => said.out.includes("storage cannot be used"));
  expect(said.out).toContain(`STORAGE_DIR ${folder} cannot be used: ${why}`);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});

test("several processes share the port and their metrics, a killed one is replaced, and SIGTERM ends all", async () => {
  const server = await startServer({ WEB_CONCURRENCY: "2" });
  const workersUp = (count: number) => until(() => server.said.out.split("the API is listening").length - 1 === count);
  await workersUp(2);
  const processes = await childrenOf(server.process.pid);
  expect(processes).toHaveLength(2);

  const asked = 20;
  for (let n = 0; n < asked; n += 1) {
    const answer = await fetch(`${server.url}/healthz`, { headers: { connection: "close" } });
    expect(answer.status).toBe(200);
  }
  const metrics = async () => (await fetch(`${server.url}/metrics`)).text();
  expect(await metrics()).toContain(
    `http_request_duration_seconds_count{method="GET",route="/healthz",status="200"} ${asked}\n`,
  );
  // what cannot be read in time is left out, as on a machine that has much else to do
  await until(async () => (await metrics()).includes("outbox_lag_seconds 0\n"));

  const [victim = 0, survivor = 0] = processes;
  process.kill(victim, "SIGKILL");
  await workersUp(3);
  const replaced = await childrenOf(server.process.pid);
  expect(replaced).toHaveLength(2);
  expect(replaced).toContain(survivor);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);

  const { reply, release } = await requestInFlight(server);
  server.process.kill("SIGTERM");
  await stopping(server);
  await release();
  expect(await reply).toMatchObject({ status: 200 });
  expect(await ended(server.process)).toEqual({ code: 0, signal: null });
  expect(await Promise.all(replaced.map(alive))).toEqual([false, false]);
});

test("a second signal ends all processes at once", async () => {
  const server = await startServer({ WEB_CONCURRENCY: "2" });
  await until(() => server.said.out.split("the API is listening").length - 1 === 2);
  const processes = await childrenOf(server.process.pid);
  const { reply, release } = await requestInFlight(server);
  server.process.kill("SIGTERM");
  await stopping(server);
  server.process.kill("SIGTERM");
  expect(await ended(server.process)).toEqual({ code: 1, signal: null });
  await expect(reply).rejects.toThrow();
  await release();
  await until(async () => (await Promise.all(processes.map(alive))).every((lives) => !lives));
});

test("a server stops when its parent process is gone", async () => {
  const server = await startServer();
  server.process.disconnect();
  expect(await ended(server.process)).toEqual({ code: 0, signal: null });
});

test("a worker serves its own health and metrics until it is stopped", async () => {
  const port = await freePort();
  const worker = run("workers/main", { WORKER_METRICS_PORT: String(port), METRICS_TOKEN: "a-token-for-metrics" });
  await once(worker.process, "message");
  const url = `http://127.0.0.1:${port}`;
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  const metrics = await fetch(`${url}/metrics`, { headers: { authorization: "Bearer a-token-for-metrics" } });
  expect(await metrics.text()).toContain("job_duration_seconds");
  expect(worker.said.out).toMatch(new RegExp(`"version":"${version}".*"msg":"workers started"`));
  worker.process.kill("SIGTERM");
  expect(await ended(worker.process)).toEqual({ code: 0, signal: null });
});
