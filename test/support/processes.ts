import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { compiled } from "./compiled.js";

/** Starts one of the programs in this folder with this test's environment; it ends with the test at the latest. */
export function startProcess(
  program: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): ChildProcess {
  return spawn(process.execPath, [compiled(`test/support/${program}`), ...args], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Waits for the end of a process; returns its exit code and signal. */
export async function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return { code: child.exitCode, signal: child.signalCode };
}

/** Everything that a process writes to its standard error. */
export async function complaints(child: ChildProcess): Promise<string> {
  let text = "";
  child.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(child, "close");
  return text;
}

/** The child processes of a process. */
export async function childrenOf(parent: number | undefined): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "latin1").catch(() => "")));
  return (
    stats
      // a process of Node has the name of its first thread, which Node 24 calls MainThread
      .map((stat) => /^(\d+) \((?:node.*|MainThread)\) (\S) (\d+)/.exec(stat))
      .filter((match) => match?.[2] !== "Z" && Number(match?.[3]) === parent)
      .map((match) => Number(match?.[1]))
  );
}

export const alive = (pid: number) => readFile(`/proc/${pid}/stat`).then(Boolean, () => false);
