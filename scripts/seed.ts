import "./configured.js";
import { parseArgs } from "node:util";
import { config } from "../lib/process/config.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { usage } from "./command.js";
import { withProgress } from "./progress-bar.js";
import { seedMarketplace } from "./seed/marketplace.js";

function readArguments(): { scale: number; beside: boolean } {
  try {
    const options = {
      scale: { type: "string", default: "0.01" },
      beside: { type: "boolean", default: false },
    } as const;
    const { scale, beside } = parseArgs({ options }).values;
    return { scale: Number(scale), beside };
  } catch {
    // an unknown option prints the usage too
    return { scale: NaN, beside: false };
  }
}

const { scale, beside } = readArguments();
if (!(scale > 0 && scale <= 10)) exitWithLine(usage);
if (config.NODE_ENV === "production")
  exitWithLine("The seed makes up customers and orders, so it does not run in production.");

await withProgress("statements", (report) => seedMarketplace(config.DATABASE_DIRECT_URL, scale, beside, report));
process.stdout.write(`Seeded about ${Math.round(1_000_000 * scale)} orders and the data around them.\n`);
