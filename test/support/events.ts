import { sql } from "../../sql/db.js";
import { fanOut } from "../../queues/index.js";
import { fanOutEvent } from "../../workers/fan-out.js";
import type { Character } from "./cast.js";
import { task } from "./task.js";

/** The events of a subject that are staged, due and not done. */
export const stagedEvents = (subjectId: string) =>
  sql<{ id: number; payload: unknown; requestId: string | null }[]>`
    select id, payload, request_id as "requestId"
    from staged_jobs
    where queue = 'fan-out' and payload ->> 'subjectId' = ${subjectId} and done_at is null and run_at <= now()
    order by id`;

/** Runs the staged jobs of a subject's events. */
export async function runEvents(subjectId: string): Promise<void> {
  for (const { id, payload, requestId } of await stagedEvents(subjectId)) {
    await fanOutEvent({
      ...task(fanOut.payload.parse(payload)),
      requestId: requestId ?? undefined,
      done: async (tx) => {
        await tx`update staged_jobs set done_at = now() where id = ${id}::bigint`;
      },
    });
  }
}

/** Lists a user's notifications that are new since the last call, oldest first. */
export async function newNotifications({ client }: Character): Promise<Record<string, unknown>[]> {
  const { list } = await client.get("/api/v1/notifications?unread=true&limit=200");
  const [latest] = list;
  if (latest) await client.post("/api/v1/notifications/read", { upTo: latest["id"] });
  return list.toReversed();
}

export const newKinds = async (user: Character) => (await newNotifications(user)).map(({ kind }) => kind);
