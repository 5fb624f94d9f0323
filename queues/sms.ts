import { z } from "zod";
import { contract } from "./contract.js";

/** Sends a one-time code to its phone, at most once, and then erases it. */
export const sms = contract({
  queue: "sms",
  payload: z.object({ otpId: z.uuid() }),
  attempts: 8,
  backoffMs: 2_000,
});
