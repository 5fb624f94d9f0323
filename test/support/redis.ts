import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "@jest/globals";
import type { Certificate } from "./certificates.js";
import { scratchFolder } from "./scratch.js";
import { freePort } from "../../scripts/free-port.js";

/** Whether this machine has `redis-server`. */
export const redisAvailable = process.env["TEST_REDIS"] === "1";

/** A suite that needs Redis; without it it is reported as skipped. */
export const describeWithRedis: (name: string, suite: () => void) => void = (name, suite) =>
  redisAvailable ? describe(name, suite) : describe.skip(`${name} (no redis-server on the PATH)`, suite);

/** Stands for a suite that is loaded only with Redis: jest refuses a suite without tests, also a skipped one. */
export const notLoaded = (): void => test("every test", () => undefined);

/** After this long without an answer others take a server for dead. */
export const NODE_TIMEOUT_MS = 1_500;

/** A separate Redis for a test file, without persistence. */
export interface TestRedis {
  url: string;
  /** Kills it; its data is lost. */
  kill(): Promise<void>;
  /** Starts it again, empty, at the same address. */
  restart(): Promise<void>;
  /** Suspends it, with its connections open. */
  freeze(): void;
  thaw(): void;
  /** Stops it for good. */
  stop(): Promise<void>;
}

/** Waits until the program says that it is up. */
async function spawnServer(settings: readonly string[], words: string): Promise<ChildProcess> {
  const child = spawn("redis-server", settings, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const text of child.stdout) {
    if (String(text).includes(words)) break;
  }
  child.stdout.resume();
  if (child.exitCode !== null) throw new Error(`redis-server ended with code ${child.exitCode}`);
  return child;
}

/** A certificate of servers that know each other, and their clients, by the authority in this file. */
export type SharedCertificate = Certificate & { authority: string };

/** Writes the certificate's files; returns the settings that name them. */
async function tlsSettings(folder: string, tls: Certificate | SharedCertificate): Promise<Record<string, string>> {
  const [certificate, key] = [join(folder, "server.crt"), join(folder, "server.key")];
  await Promise.all([writeFile(certificate, tls.certificate), writeFile(key, tls.key)]);
  const files = { "tls-cert-file": certificate, "tls-key-file": key };
  if (!("authority" in tls)) return { ...files, "tls-auth-clients": "no" };
  return { ...files, "tls-ca-cert-file": tls.authority, "tls-replication": "yes" };
}

/** The settings that a server and a sentinel have in common. */
const basics = async (port: number, folder: string, tls?: Certificate | SharedCertificate) => ({
  ...(tls ? { port: "0", "tls-port": String(port) } : { port: String(port) }),
  ...(tls && (await tlsSettings(folder, tls))),
  bind: "127.0.0.1",
  dir: folder,
});

const urlOf = (port: number, tls: Certificate | undefined) => `${tls ? "rediss" : "redis"}://127.0.0.1:${port}`;

/**
 * Starts a Redis on a free port, which speaks TLS only when it has a certificate, with further settings. Set
 * `process.env.REDIS_URL` to its `url` before importing anything that reads the configuration.
 */
export async function startRedis(
  tls?: Certificate | SharedCertificate,
  more: Record<string, string> = {},
): Promise<TestRedis> {
  const port = await freePort();
  const folder = await scratchFolder("redis");
  const settings = {
    ...(await basics(port, folder, tls)),
    save: "",
    appendonly: "no",
    "repl-diskless-sync-delay": "0",
    ...more,
  };
  const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return supervise(urlOf(port, tls), folder, () => spawnServer(words, "Ready to accept connections"));
}

/** Starts a node that is in no cluster yet; clients are told to reach it by `hostname`, if there is one. */
export const startClusterNode = async (tls?: SharedCertificate, hostname?: string): Promise<TestRedis> =>
  startRedis(tls, {
    "cluster-enabled": "yes",
    "cluster-node-timeout": String(NODE_TIMEOUT_MS),
    // on a busy machine several elections fail, after which a replica would be too old to take over for ever
    "cluster-replica-validity-factor": "0",
    "cluster-port": String(await freePort()),
    ...(tls && { "tls-cluster": "yes" }),
    ...(hostname !== undefined && {
      "cluster-announce-hostname": hostname,
      "cluster-preferred-endpoint-type": "hostname",
    }),
  });

/** Starts a sentinel on a free port that watches the master `name` at this port, and needs one more to agree with it. */
export async function startSentinel(name: string, masterPort: string, tls?: SharedCertificate): Promise<TestRedis> {
  const port = await freePort();
  const folder = await scratchFolder("sentinel");
  const file = join(folder, "sentinel.conf");
  const settings = {
    ...(await basics(port, folder, tls)),
    "sentinel monitor": `${name} 127.0.0.1 ${masterPort} 2`,
    "sentinel down-after-milliseconds": `${name} ${NODE_TIMEOUT_MS}`,
    "sentinel failover-timeout": `${name} ${5 * NODE_TIMEOUT_MS}`,
  };
  const lines = Object.entries(settings).map((words) => `${words.join(" ")}\n`);
  await writeFile(file, lines.join(""));
  return supervise(urlOf(port, tls), folder, () => spawnServer([file, "--sentinel"], "+monitor master"));
}

async function supervise(url: string, folder: string, spawnIt: () => Promise<ChildProcess>): Promise<TestRedis> {
  let child = await spawnIt();
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return {
    url,
    kill,
    restart: async () => {
      await kill();
      child = await spawnIt();
    },
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
