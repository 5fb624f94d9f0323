import { config } from "../process/config.js";
import { sameBytes } from "./crypto.js";

/** Whether a request with this Authorization header may read the metrics. */
export function mayReadMetrics(authorization: string | undefined): boolean {
  if (config.METRICS_TOKEN === undefined) return true;
  return sameBytes(Buffer.from(authorization ?? ""), Buffer.from(`Bearer ${config.METRICS_TOKEN}`));
}
