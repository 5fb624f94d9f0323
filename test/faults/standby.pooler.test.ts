import { describeWithPgDump } from "../support/installed-postgres.js";
import { describeWithPgbouncer } from "../support/pgbouncer.js";
import { testStandby } from "./standby.js";

describeWithPgDump("with PostgreSQL's programs", () => {
  describeWithPgbouncer("a service that knows a primary and its standby, each behind a pooler", () =>
    testStandby(true),
  );
});
