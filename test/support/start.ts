import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { compiled } from "./compiled.js";

export interface Started {
  process: ChildProcess;
  /** Its output so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves to the greeting with the addresses; rejects with the error output when it ends before. */
  greeted: Promise<string>;
  /** Resolves with the exit code, once all its output has been read. */
  ended: Promise<number | null>;
}

/** Runs the compiled script of `npm start` in `folder`, with no environment but `env`; `args` are for Node. */
export function startEverything(
  folder: string,
  env: Record<string, string>,
  args: readonly string[] = [compiled("scripts/start.ts")],
): Started {
  const child = spawn(process.execPath, args, {
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

/** Every process with `folder` in its environment or command line. */
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
