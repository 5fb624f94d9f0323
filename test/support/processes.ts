import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts one of the programs in this folder, with this test's environment; it ends with the test at the latest. */
export function startProcess(
  program: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): ChildProcess {
  const path = fileURLToPath(new URL(program, import.meta.url));
  return spawn(process.execPath, ["--import", "tsx", path, ...args], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Waits for the end of a process and tells how it went. */
export async function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return { code: child.exitCode, signal: child.signalCode };
}

/** Everything a process says on its standard error. */
export async function complaints(child: ChildProcess): Promise<string> {
  let text = "";
  child.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(child, "close");
  return text;
}
