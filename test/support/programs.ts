import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { config } from "../../lib/process/config.js";
import { Client } from "./api.js";
import { ended, startProcess } from "./processes.js";
import { freePort } from "./start.js";
import { until } from "./until.js";

const Line = z.looseObject({ level: z.string(), msg: z.string().default("") });

export type Line = z.output<typeof Line>;

/** One of the service's programs, in one process after another. */
export interface Program {
  /** Starts it where it does not run, and resolves when it is at work. */
  start(): Promise<void>;
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>;
  /** Stops it in the middle of whatever it does; answers what lets it go on. */
  freeze(): () => void;
  /** What all its processes have logged. */
  readonly lines: readonly Line[];
  /** Its processes that ended by themselves. Each is told with its last words, and followed by another, as a supervisor would do. */
  readonly accidents: readonly string[];
}

interface Life {
  child: ChildProcess;
  up: Promise<void>;
  killed: boolean;
}

/** `announcement` is the log line by which it says that it is at work. */
function program(file: string, announcement: string, env: Record<string, string>): Program {
  const lines: Line[] = [];
  const accidents: string[] = [];
  let life: Life | undefined;

  function launch(): Life {
    const child = startProcess(file, [], { LOG_LEVEL: "info", ...env });
    let lastWords = "";
    child.stderr?.on("data", (text: Buffer) => (lastWords += text.toString()));
    const up = new Promise<void>((resolve, reject) => {
      if (!child.stdout) throw new Error("the program has no output");
      createInterface(child.stdout).on("line", (text) => {
        const line = Line.parse(JSON.parse(text));
        lines.push(line);
        if (line.level === "fatal") lastWords += text;
        if (line.msg === announcement) resolve();
      });
      child.once("close", (code) => {
        if (!launched.killed) {
          accidents.push(`${file} ended with ${String(code)}: ${lastWords}`);
          life = launch();
        }
        reject(new Error(`${file} ended`));
      });
    });
    up.catch(() => undefined);
    const launched: Life = { child, up, killed: false };
    return launched;
  }

  return {
    lines,
    accidents,
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

/** How often these workers have sent a notification, by their log. */
export const countSends = (workers: readonly Program[], notificationId: string): number =>
  workers
    .flatMap(({ lines }) => lines)
    .filter((line) => line.msg === "push" && line["notificationId"] === notificationId).length;

/** The service as its operator runs it: an API, and worker processes; nothing runs before it is started. */
export interface Service {
  api: Program;
  /** Speaks to the API, wherever its processes come and go. */
  client: Client;
  workers: readonly [Program, Program];
  /** Processes that ended by themselves. */
  readonly accidents: readonly string[];
  /** Starts what does not run, and resolves when everything is well. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The service with this test's configuration; `env` adds to it. */
export async function prepareService(env: Record<string, string> = {}): Promise<Service> {
  const port = String(await freePort());
  // tokens that the test signs are good for the service under the same public address
  const settings = { ...env, HOST: "127.0.0.1", RATE_LIMIT_DISABLED: "1", PUBLIC_URL: config.PUBLIC_URL };
  // a worker that is stopped inside a transaction keeps its locks for that long
  const workerSettings = { DATABASE_TIMEOUT_MS: "10000", ...settings };
  const api = program("server.ts", "the API is listening", { ...settings, PORT: port });
  const worker = () => program("worker.ts", "workers started", workerSettings);
  const workers = [worker(), worker()] as const;
  const client = new Client(`http://127.0.0.1:${port}`);
  return {
    api,
    client,
    workers,
    get accidents() {
      return [api, ...workers].flatMap(({ accidents }) => accidents);
    },
    start: async () => {
      await Promise.all([api, ...workers].map((each) => each.start()));
      await until(async () => {
        const answer = await fetch(`${client.url}/readyz`).then(
          (response) => response.text(),
          () => "",
        );
        return answer.includes('"queue":"ok"') && answer.includes('"status":"ready"');
      });
    },
    stop: async () => {
      await Promise.all([api, ...workers].map((each) => each.kill()));
    },
  };
}
