import { z } from "zod";

/**
 * What a worker says of a running job, in the broker: `done` of `total` rows, bytes, days or whatever it counts. bull-board draws
 * `progress`, the percentage.
 */
export const JobProgress = z.object({
  done: z.number(),
  /** Without it is unknown how much there is. */
  total: z.number().optional(),
  progress: z.number().optional(),
  /** When the run will be done if it goes on as it did, in ms since 1970; without it that cannot be told. */
  endsAt: z.number().optional(),
});
export type JobProgress = z.output<typeof JobProgress>;
