import { z } from "zod";
import { contract } from "./contract.js";

/** Imports a CSV file into a partner's menu, each row once, and resumes where it stopped; a partner's imports run one by one. */
export const menuImport = contract({
  queue: "menu-import",
  payload: z.object({ importId: z.uuid() }),
  attempts: 10,
  backoffMs: 1_000,
  // each job uses a core for parsing, and Postgres another
  concurrency: 2,
});
