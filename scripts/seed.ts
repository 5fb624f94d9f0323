import "./environment.js";
import { parseArgs } from "node:util";
import { config } from "../lib/config.js";
import { seedMarketplace } from "./seed/marketplace.js";

/** `npm run seed -- [--scale 0.1]`: fills an empty development database, with a million orders at scale 1. */

const { values } = parseArgs({ options: { scale: { type: "string", default: "0.01" } } });
const scale = Number(values.scale);
if (!(scale > 0 && scale <= 10)) throw new Error("--scale must be a number above 0 and at most 10");
if (config.NODE_ENV === "production") throw new Error("This makes up customers and orders: it is not for production.");

await seedMarketplace(config.DATABASE_URL, scale);
process.stdout.write(`Seeded about ${Math.round(1_000_000 * scale)} orders and what belongs to them.\n`);
