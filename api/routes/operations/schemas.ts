import { z } from "zod";
import { jobStates } from "../../../sql/operators/jobs.js";
import { contracts } from "../../../queues/index.js";
import { text, Timestamp } from "../../http/schemas.js";

export const JobNumber = z
  .int()
  .min(1)
  .meta({ description: "ascending in the order in which jobs were staged", example: 4711 });
export const Queue = z.enum(contracts.map(({ queue }) => queue)).meta({ example: "push" });

/** Of an act, for the audit log. */
export const Why = text(500).meta({ description: "for the audit log", example: "the push service was down" });

export const Job = z
  .object({
    id: JobNumber,
    queue: z.string().meta({ example: "push" }),
    state: z.enum(jobStates).meta({
      description: "DEAD: given up; DUE: to be run now, or running; WAITING: for its time; DONE: kept for a day",
    }),
    payload: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).meta({
      description: "ids and small facts",
      example: { notificationId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" },
    }),
    requestId: z.string().nullable().meta({ description: "the request that caused it" }),
    attempts: z.int(),
    lastError: z.string().nullable(),
    stagedAt: Timestamp,
    runAt: Timestamp,
    doneAt: Timestamp.nullable(),
    deadAt: Timestamp.nullable(),
  })
  .meta({ id: "Job" });
