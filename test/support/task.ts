import { pino } from "pino";
import { z } from "zod";
import type { ReportProgress } from "../../lib/domain/progress.js";
import type { Payload } from "../../queues/contract.js";
import type { Task } from "../../workers/consume.js";

const Line = z.record(z.string(), z.unknown());

/** The task for a handler that a test calls; `lines` collects its log lines, `reported` its progress, and `done` does nothing. */
export function task<P extends Payload>(
  payload: P,
): Task<P> & { lines: Record<string, unknown>[]; reported: Parameters<ReportProgress>[] } {
  const lines: Record<string, unknown>[] = [];
  const reported: Parameters<ReportProgress>[] = [];
  return {
    payload,
    lines,
    reported,
    log: pino({ base: null }, { write: (line: string) => void lines.push(Line.parse(JSON.parse(line))) }),
    progress: (...step) => void reported.push(step),
    requestId: undefined,
    attempt: 1,
    signal: new AbortController().signal,
    done: () => Promise.resolve(),
  };
}
