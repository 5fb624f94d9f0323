import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { fileURLToPath, pathToFileURL } from "node:url";

const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const start = fileURLToPath(new URL("../../scripts/start.ts", import.meta.url));

export interface Started {
  process: ChildProcess;
  /** What it has printed so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves with the greeting that says where everything is; rejects with its complaint when it ends before. */
  greeted: Promise<string>;
  /** Resolves with the exit code, once all its output has been read. */
  ended: Promise<number | null>;
}

/** What `npm start` runs, in `folder`, with nothing in its environment but `env`. */
export function startEverything(folder: string, env: Record<string, string>): Started {
  const child = spawn(process.execPath, ["--import", tsx, start], {
    cwd: folder,
    env: { PATH: process.env["PATH"], DATA_DIR: folder, LOG_LEVEL: "warn", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  const ended = once(child, "close").then(() => child.exitCode);
  const greeted = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      said.stdout += chunk.toString();
      if (said.stdout.includes("Ctrl-C")) resolve(said.stdout);
    });
    child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
    void ended.then((code) => reject(new Error(`it ended with ${String(code)}: ${said.stderr}`)));
  });
  // a test that does not wait for the greeting may end it before
  greeted.catch(() => undefined);
  return {
    process: child,
    get stdout() {
      return said.stdout;
    },
    get stderr() {
      return said.stderr;
    },
    greeted,
    ended,
  };
}

export interface Running {
  pid: number;
  command: string;
}

/** Every process that has `folder` in its environment or in its command line. */
export async function processesOf(folder: string): Promise<Running[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [command, environment] = await Promise.all(
        ["cmdline", "environ"].map((file) => readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "")),
      );
      return { pid: Number(pid), command: command ?? "", environment: environment ?? "" };
    }),
  );
  return found
    .filter(({ pid, command, environment }) => pid !== process.pid && `${command}${environment}`.includes(folder))
    .map(({ pid, command }) => ({ pid, command: command.replaceAll("\0", " ").trim() }));
}

/** A port that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
