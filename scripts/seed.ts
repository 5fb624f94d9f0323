import "./environment.js";
import { parseArgs } from "node:util";
import { config } from "../lib/process/config.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { seedMarketplace } from "./seed/marketplace.js";

/** `npm run seed -- [--scale 0.1]`: fills an empty development database, with a million orders at scale 1. */

function readScale(): number {
  try {
    return Number(parseArgs({ options: { scale: { type: "string", default: "0.01" } } }).values.scale);
  } catch {
    // an unknown option prints the usage too
    return NaN;
  }
}

const scale = readScale();
if (!(scale > 0 && scale <= 10))
  exitWithLine("Usage: npm run seed -- [--scale 0.01]  (above 0, at most 10; 1 is a million orders)");
if (config.NODE_ENV === "production")
  exitWithLine("The seed makes up customers and orders, so it does not run in production.");

await seedMarketplace(config.DATABASE_URL, scale);
process.stdout.write(`Seeded about ${Math.round(1_000_000 * scale)} orders and the data around them.\n`);
