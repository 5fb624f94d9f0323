import { postgresContents } from "../support/broker-contents.js";
import { aDayThatLeavesNoTrace, databaseUrl } from "./demo.js";

aDayThatLeavesNoTrace(
  // every upload is answered before its result exists
  () => ({ SYNC_WAIT_MS: "0" }),
  () => postgresContents(databaseUrl),
);
