import { z } from "zod";
import { contract } from "./contract.js";

/** Writes the document of a partner's statement and notifies the owner. */
export const statements = contract({
  queue: "statements",
  payload: z.object({ statementId: z.uuid() }),
  attempts: 8,
  backoffMs: 5_000,
  concurrency: 2,
});
