import { z } from "zod";
import { contract } from "../../queues/contract.js";
import { sql } from "../../sql/db.js";
import { until } from "./until.js";

/** A queue for tests only, whose handlers are in the tests. */
export const trial = contract({
  queue: "trial",
  payload: z.object({ n: z.int() }),
  attempts: 3,
  backoffMs: 200,
});

export interface StagedRow {
  id: string;
  attempts: number;
  sends: number;
  generation: number;
  lastError: string | null;
  done: boolean;
  dead: boolean;
}

/** The rows of the outbox, oldest first. */
export async function stagedRows(): Promise<StagedRow[]> {
  return sql<StagedRow[]>`
    select id::text, attempts, sends, generation, last_error as "lastError",
      done_at is not null as done, dead_at is not null as dead
    from staged_jobs
    order by staged_jobs.id`;
}

/** The row, if `holds` is true for it. */
export async function stagedRow(id: string, holds: (row: StagedRow) => boolean): Promise<StagedRow | undefined> {
  return (await stagedRows()).find((row) => row.id === id && holds(row));
}

/** Waits until every row of the outbox is done. */
export const allDone = () => until(async () => (await stagedRows()).every(({ done }) => done));
