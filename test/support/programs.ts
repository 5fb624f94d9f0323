import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { config } from "../../lib/process/config.js";
import { Client } from "./api.js";
import { ended, startProcess } from "./processes.js";
import { freePort } from "../../scripts/free-port.js";
import { until } from "./until.js";

const Line = z.looseObject({ level: z.string(), msg: z.string().default("") });

export type Line = z.output<typeof Line>;

/** One of the service's programs, run in successive processes. */
export interface Program {
  /** Starts it unless it runs; resolves when it is ready. */
  start(): Promise<void>;
  /** Kills it with SIGKILL. */
  kill(): Promise<void>;
  /** Suspends it with SIGSTOP; the returned function resumes it. */
  freeze(): () => void;
  /** The log lines of all its processes. */
  readonly lines: readonly Line[];
  /** Unexpected ends of its processes, with their last output. Each is restarted, as a supervisor would do. */
  readonly crashes: readonly string[];
}

interface Life {
  child: ChildProcess;
  up: Promise<void>;
  killed: boolean;
}

/** Prepares a program of this folder; `readyMessage` is the log message that says that it is ready. */
export function program(file: string, readyMessage: string, env: Record<string, string>): Program {
  const lines: Line[] = [];
  const crashes: string[] = [];
  let life: Life | undefined;

  function launch(): Life {
    const child = startProcess(file, [], { LOG_LEVEL: "info", ...env });
    let lastOutput = "";
    child.stderr?.on("data", (text: Buffer) => (lastOutput += text.toString()));
    const up = new Promise<void>((resolve, reject) => {
      if (!child.stdout) throw new Error("the program has no output");
      createInterface(child.stdout).on("line", (text) => {
        const line = Line.parse(JSON.parse(text));
        lines.push(line);
        if (line.level === "fatal") lastOutput += text;
        if (line.msg === readyMessage) resolve();
      });
      child.once("close", (code) => {
        if (!launched.killed) {
          crashes.push(`${file} ended with ${String(code)}: ${lastOutput}`);
          life = launch();
        }
        reject(new Error(`${file} ended: ${lastOutput}`));
      });
    });
    up.catch(() => undefined);
    const launched: Life = { child, up, killed: false };
    return launched;
  }

  return {
    lines,
    crashes,
    start: async () => {
      life ??= launch();
      await life.up;
    },
    kill: async () => {
      if (!life) return;
      const { child } = life;
      life.killed = true;
      life = undefined;
      child.kill("SIGKILL");
      await ended(child);
    },
    freeze: () => {
      const frozen = life?.child;
      frozen?.kill("SIGSTOP");
      return () => void frozen?.kill("SIGCONT");
    },
  };
}

/** How often these workers have sent a notification, according to their logs. */
export const countSends = (workers: readonly Program[], notificationId: string): number =>
  workers
    .flatMap(({ lines }) => lines)
    .filter((line) => line.msg === "push" && line["notificationId"] === notificationId).length;

/** Whether the API at this address, its database and its broker can be used. */
export async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/readyz`).then(
    (response) => response.text(),
    () => "",
  );
  return answer.includes('"queue":"ok"') && answer.includes('"status":"ready"');
}

/** The service as an operator runs it: an API process and worker processes, to be started by `start`. */
export interface Service {
  api: Program;
  /** A client for the API, whose address outlives its processes. */
  client: Client;
  workers: readonly [Program, Program];
  /** Unexpected ends of processes. */
  readonly crashes: readonly string[];
  /** Starts the programs that do not run; resolves when all are ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The service with this test's configuration; `env` adds to it. */
export async function prepareService(env: Record<string, string> = {}): Promise<Service> {
  const port = String(await freePort());
  // the same public address, so that the service accepts tokens that the test signs
  const settings = { ...env, HOST: "127.0.0.1", RATE_LIMIT_DISABLED: "1", PUBLIC_URL: config.PUBLIC_URL };
  // a worker suspended inside a transaction keeps its locks for this long
  const workerSettings = { DATABASE_TIMEOUT_MS: "10000", ...settings };
  const api = program("server.ts", "the API is listening", { ...settings, PORT: port });
  const worker = () => program("worker.ts", "workers started", workerSettings);
  const workers = [worker(), worker()] as const;
  const client = new Client(`http://127.0.0.1:${port}`);
  return {
    api,
    client,
    workers,
    get crashes() {
      return [api, ...workers].flatMap(({ crashes }) => crashes);
    },
    start: async () => {
      await Promise.all([api, ...workers].map((each) => each.start()));
      await until(() => isReady(client.url));
    },
    stop: async () => {
      await Promise.all([api, ...workers].map((each) => each.kill()));
    },
  };
}
