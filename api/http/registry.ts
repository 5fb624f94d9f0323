import { collectDefaultMetrics, Registry } from "prom-client";

/** The metrics of one API process; each room adds its own. */
export const registry = new Registry();
collectDefaultMetrics({ register: registry });
