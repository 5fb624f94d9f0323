import { z } from "zod";
import { contract } from "../../queues/contract.js";
import { sql } from "../../sql/db.js";

/** A queue for tests only: its handlers are the tests'. */
export const trial = contract({
  queue: "trial",
  payload: z.object({ n: z.int() }),
  attempts: 3,
  backoffMs: 200,
});

export interface StagedRow {
  id: string;
  tries: number;
  sends: number;
  generation: number;
  lastError: string | null;
  done: boolean;
  dead: boolean;
}

/** The outbox as it is, oldest first. */
export async function stagedRows(): Promise<StagedRow[]> {
  return sql<StagedRow[]>`
    select id::text, tries, sends, generation, last_error as "lastError",
      done_at is not null as done, dead_at is not null as dead
    from staged_jobs
    order by staged_jobs.id`;
}

/** The row when `holds` holds for it. */
export async function stagedRow(id: string, holds: (row: StagedRow) => boolean): Promise<StagedRow | undefined> {
  return (await stagedRows()).find((row) => row.id === id && holds(row));
}
