import { describe } from "@jest/globals";
import { describeWithPgDump } from "../support/installed-postgres.js";
import { describeWithPgbouncer } from "../support/pgbouncer.js";
import { notLoaded } from "../support/redis.js";
import { testStandby } from "./standby.js";

const name = "a service that knows a primary and its standby, each behind a pooler";

// every run has the same without a pooler
if (process.env["TEST_STORM_SECONDS"] === undefined) describe.skip(`${name} (only in npm run faults)`, notLoaded);
else describeWithPgDump("with PostgreSQL's programs", () => describeWithPgbouncer(name, () => testStandby(true)));
