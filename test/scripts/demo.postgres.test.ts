import { postgresContents } from "../support/broker-contents.js";
import { aDayThatLeavesNoTrace, databaseUrl } from "./demo.js";

aDayThatLeavesNoTrace(
  () => ({}),
  () => postgresContents(databaseUrl),
);
