import "../configured.js";
import { parseArgs } from "node:util";
import { phonePattern } from "../../lib/domain/phone.js";
import { describeError } from "../../lib/process/describe-error.js";
import { exitWithLine } from "../../lib/process/lifecycle.js";
import { log } from "../../lib/process/log.js";
import { withTimeout } from "../../lib/process/with-timeout.js";
import { closeBroker } from "../../queues/broker.js";
import { closeDatabase } from "../../sql/db.js";
import { usage } from "../command.js";
import { failed, LIMIT_MS, table, type Check, type Finding } from "./finding.js";
import { postgresChecks } from "./postgres.js";
import { configurationCheck, serviceChecks } from "./services.js";

/**
 * `npm run check [-- --phone +79991234567]`: says what is configured, reaches every dependency, and prints a table. Exits with 1
 * when a check failed. Nothing is changed: the file it writes is deleted again, and an SMS is sent only to `--phone`.
 */

function readPhone(): string | undefined {
  try {
    const { phone } = parseArgs({ options: { phone: { type: "string" } } }).values;
    return phone === undefined || phonePattern.test(phone) ? phone : exitWithLine(usage);
  } catch {
    return exitWithLine(usage);
  }
}

async function run({ name, find }: Check): Promise<(readonly [string, Finding])[]> {
  try {
    const found = await withTimeout(LIMIT_MS, find());
    return ("result" in found ? [found] : found).map((finding) => [name, finding] as const);
  } catch (error) {
    return [[name, failed(describeError(error))]];
  }
}

const phone = readPhone();
// what is wrong stands in the table
log.level = "silent";
const checks = [configurationCheck, ...(await postgresChecks()), ...serviceChecks(phone)];
const rows = (await Promise.all(checks.map(run))).flat();
process.stdout.write(table(rows));
await withTimeout(LIMIT_MS, Promise.all([closeDatabase(), closeBroker()])).catch(() => undefined);
process.exit(rows.some(([, { result }]) => result === "failed") ? 1 : 0);
