import { z } from "zod";
import { contract } from "./contract.js";

/** Puts a partner's CSV file into its menu, each row once, and goes on where it stopped; imports of one partner follow each other. */
export const menuImport = contract({
  queue: "menu-import",
  payload: z.object({ importId: z.uuid() }),
  attempts: 10,
  backoffMs: 1_000,
  // one takes a core for its parsing, and Postgres another
  concurrency: 2,
});
