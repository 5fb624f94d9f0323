import { config } from "../../../lib/process/config.js";
import { clientNetwork } from "../../http/client-network.js";
import { minuteMs, SharedCounters } from "../../http/shared-counters.js";

/** Counters of one window, of which other processes learn those that come near the bound. Memory keeps the latest sources. */
const countersOf = (windowMs: number, bound: number) =>
  new SharedCounters({ windowMs, sharedFrom: Math.ceil(bound / 10), whenFull: "FORGET" });

const minutes = countersOf(minuteMs, config.AD_EVENTS_PER_MINUTE);
const days = countersOf(24 * 60 * minuteMs, config.AD_EVENTS_PER_DAY);

/** Who causes impressions and clicks: a user, or a client address without a token. */
export const sourceOf = (user: { id: string } | null, ip: string): string =>
  user ? `user ${user.id}` : `address ${clientNetwork(ip)}`;

/**
 * Counts an event of a source, such as a click on one banner; false beyond what one source may cause in a minute and in a day:
 * then it is invalid traffic. Otherwise anyone could spend a campaign's budget.
 */
export function isValidTraffic(event: string, source: string): boolean {
  if (config.RATE_LIMIT_DISABLED) return true;
  const key = `${event} ${source}`;
  return (
    minutes.increment(key).totalHits <= config.AD_EVENTS_PER_MINUTE &&
    days.increment(key).totalHits <= config.AD_EVENTS_PER_DAY
  );
}
