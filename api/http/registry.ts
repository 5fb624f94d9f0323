import { collectDefaultMetrics, Registry } from "prom-client";

/** The metrics of one API process; each file registers its own. */
export const registry = new Registry();
collectDefaultMetrics({ register: registry });
