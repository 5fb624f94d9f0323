import { describeWithPgDump } from "../support/installed-postgres.js";
import { testStandby } from "./standby.js";

describeWithPgDump("a service that knows a primary and its standby", () => testStandby(false));
