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

async function spawnRedis(port: number, folder: string, tls: Certificate | undefined): Promise<ChildProcess> {
  const listen = tls ? ["--port", "0", "--tls-port", String(port)] : ["--port", String(port)];
  const settings = [...listen, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  if (tls) {
    const [certificate, key] = [join(folder, "server.crt"), join(folder, "server.key")];
    await Promise.all([writeFile(certificate, tls.certificate), writeFile(key, tls.key)]);
    settings.push("--tls-cert-file", certificate, "--tls-key-file", key, "--tls-auth-clients", "no");
  }
  const child = spawn("redis-server", settings, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const text of child.stdout) {
    if (String(text).includes("Ready to accept connections")) break;
  }
  child.stdout.resume();
  if (child.exitCode !== null) throw new Error(`redis-server ended with code ${child.exitCode}`);
  return child;
}

/** Starts a Redis on a free port, which speaks TLS only when it has a certificate. Set `process.env.REDIS_URL` to its `url` before importing anything that reads the configuration. */
export async function startRedis(tls?: Certificate): Promise<TestRedis> {
  const port = await freePort();
  const folder = await scratchFolder("redis");
  let child = await spawnRedis(port, folder, tls);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return {
    url: `${tls ? "rediss" : "redis"}://127.0.0.1:${port}`,
    kill,
    restart: async () => {
      await kill();
      child = await spawnRedis(port, folder, tls);
    },
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
