import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Suspends a process and its children; the returned function lets them continue. */
export async function freezeAll(main: number): Promise<() => void> {
  process.kill(main, "SIGSTOP");
  const { stdout } = await promisify(execFile)("pgrep", ["-P", String(main)]);
  const all = [main, ...stdout.trim().split("\n").map(Number)];
  for (const pid of all) process.kill(pid, "SIGSTOP");
  return () => {
    // once the server continues it may end some of its processes
    for (const pid of all.toReversed()) process.kill(pid, "SIGCONT");
  };
}
