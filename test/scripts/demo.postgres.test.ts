import { postgresContents } from "../support/broker-contents.js";
import { aDayThatLeavesNoTrace, databaseUrl } from "./demo.js";

aDayThatLeavesNoTrace(
  // every upload is answered before it is done
  () => ({ SYNC_WAIT_MS: "0" }),
  () => postgresContents(databaseUrl),
);
