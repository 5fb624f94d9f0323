import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import type { z } from "zod";

/** A process that is measured. */
export interface Measured {
  /** CPU time that it and its children have used, ended ones included; null where the system has no /proc. */
  cpuSeconds(): number | null;
}

/** A program that is measured or measures, in its own process. */
export interface Program extends Measured {
  /** Its address, when it is a server. */
  url: string;
  /** Sends it a question and reads its answer; rejects when it ends instead. */
  ask<T>(question: object, answer: z.ZodType<T>): Promise<T>;
  /** Memory that it and its children hold; null where the system has no /proc. */
  memoryBytes(): number | null;
  /** The same for each of these processes, itself first; none where the system has no /proc. */
  memoryOfEach(): number[];
  stop(): Promise<void>;
}

const CLOCK_TICKS = 100;

/** The process and its children, by id; none where there is no /proc. */
function family(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const children = tasks.flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" "));
    return [pid, ...children.filter((child) => child.trim() !== "").flatMap((child) => family(Number(child)))];
  } catch {
    return [];
  }
}

function sum(pid: number | undefined, of: (pid: number) => number): number | null {
  const pids = pid === undefined ? [] : family(pid);
  return pids.length === 0 ? null : pids.map(of).reduce((total, value) => total + value, 0);
}

function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // its own time, and that of children that have ended
  return fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field), 0) / CLOCK_TICKS;
}

const memoryBytesOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1_024;

/** A process of another program, such as a server of Postgres. */
export const measured = (pid: number | undefined): Measured => ({ cpuSeconds: () => sum(pid, cpuSecondsOf) });

/** Stops the process, unless it has ended, and waits for its end. */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill();
  await exited;
}

/** Waits until the process is up, which its first message says. */
export async function asProgram(
  name: string,
  child: ChildProcess,
  port: number,
  up: Promise<unknown> = once(child, "message"),
): Promise<Program> {
  const failed = once(child, "exit").then(([code]: unknown[]) => {
    throw new Error(`${name} ended with code ${String(code)}`);
  });
  failed.catch(() => undefined);
  const message = () => Promise.race([once(child, "message").then(([sent]: unknown[]) => sent), failed]);
  await Promise.race([up, failed]);
  return {
    url: `http://127.0.0.1:${port}`,
    ask: async (question, schema) => {
      child.send(question);
      return schema.parse(await message());
    },
    ...measured(child.pid),
    memoryBytes: () => sum(child.pid, memoryBytesOf),
    memoryOfEach: () => (child.pid === undefined ? [] : family(child.pid).map(memoryBytesOf)),
    stop: () => endChild(child),
  };
}
