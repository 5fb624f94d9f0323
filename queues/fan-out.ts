import { z } from "zod";
import { contract } from "./contract.js";

/** Turns one event into a notification for each person it concerns; each person is told of it once. */
export const fanOut = contract({
  queue: "fan-out",
  payload: z.object({ announcement: z.enum(["ORDER_PLACED"]), subjectId: z.uuid() }),
  attempts: 8,
  backoffMs: 1_000,
});
