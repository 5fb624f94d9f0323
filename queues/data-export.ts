import { z } from "zod";
import { contract } from "./contract.js";

/** Writes what the service stores about a user into a file that only the user can read. */
export const dataExport = contract({
  queue: "data-export",
  payload: z.object({ exportId: z.uuid() }),
  attempts: 5,
  backoffMs: 5_000,
  concurrency: 2,
});
