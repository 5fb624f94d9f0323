import { z } from "zod";
import { contract } from "./contract.js";

const payload = z.union([z.strictObject({ days: z.enum(["DUE", "LATEST"]) }), z.strictObject({ day: z.iso.date() })]);

export type RollupsPayload = z.output<typeof payload>;

/**
 * Rolls up past days: those without figures or with outdated ones (`DUE`), with `LATEST` also the most recent ones again; or one past
 * day. A run that is cut short keeps the days that it finished, and the next one continues.
 */
export const rollups = contract({
  queue: "rollups",
  payload,
  attempts: 3,
  backoffMs: 30_000,
  // runs wait for each other in Postgres
  concurrency: 1,
});
