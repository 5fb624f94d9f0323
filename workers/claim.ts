import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { faultOf } from "../sql/db.js";

/** How long a claim is repeated while Postgres cannot be reached, and how often. */
const LOST_CLAIM_MS = 30_000;
const RECONNECT_MS = 500;

/**
 * Claims a message for this run, which has a token of its own. When the answer is lost, the run has sent nothing and claims it
 * again with the same token; else the message would count as sent.
 */
export async function claimForRun<Claimed>(
  signal: AbortSignal,
  claim: (token: string) => Promise<Claimed>,
): Promise<Claimed> {
  const token = randomUUID();
  const patientUntil = performance.now() + LOST_CLAIM_MS;
  for (;;) {
    try {
      return await claim(token);
    } catch (error) {
      if (faultOf(error) !== "unreachable" || signal.aborted || performance.now() > patientUntil) throw error;
      await delay(RECONNECT_MS);
    }
  }
}
