import { availableParallelism } from "node:os";
import { z } from "zod";
import { currentCommit } from "../run.js";
import { Effort, Measurement } from "./measure.js";

/** What a run has measured, and how: the contents of the file that `--json` writes. */
export const Run = z.object({
  node: z.string(),
  cores: z.int(),
  /** Null without Git; ends in `-dirty` when files differ from it. */
  commit: z.string().nullable(),
  date: z.iso.datetime(),
  /** How long it took, the set-up included. */
  seconds: z.number(),
  effort: Effort,
  measured: Measurement,
});
export type Run = z.output<typeof Run>;

export const newRun = (effort: Effort, measured: Measurement, seconds: number): Run => ({
  node: process.version,
  cores: availableParallelism(),
  commit: currentCommit(),
  date: new Date().toISOString(),
  seconds,
  effort,
  measured,
});
