import { z } from "zod";

/**
 * The progress of a running job, in the broker: `done` of `total`, in a unit of the job such as rows, bytes or days.
 * bull-board draws `progress`, the percentage.
 */
export const JobProgress = z.object({
  done: z.number(),
  /** Absent when the total is unknown. */
  total: z.number().optional(),
  progress: z.number().optional(),
  /** Estimated end in ms since 1970; absent when it is unknown. */
  endsAt: z.number().optional(),
});
export type JobProgress = z.output<typeof JobProgress>;
