import { setTimeout as delay } from "node:timers/promises";
import { isNativeError } from "node:util/types";
import { withTimeout } from "../../../lib/process/with-timeout.js";
import type { Reply } from "../api.js";
import type { Random } from "../random.js";
import type { Seller } from "./market.js";

/** By then every request must have an answer or a broken connection. */
const ANSWER_LIMIT_MS = 180_000;

/** `unknown`: the client gave up without an answer. */
export const outcomes = ["ok", "refused", "unknown"] as const;
export type Outcome = (typeof outcomes)[number];

/** One thing that a client wants, in one or more requests. */
export interface Work {
  outcome: Outcome;
  attempts: number;
}

export interface Move extends Work {
  status: "READY" | "COMPLETED" | "CANCELLED";
  by: "CUSTOMER" | "PARTNER";
  /** Null for the till. */
  actorId: string | null;
}

export interface OrderTaken extends Work {
  /** The client's idempotency key, or the till's order number. */
  key: string;
  /** Null for an order at the till. */
  buyerId: string | null;
  seller: Seller;
  lines: { id: string; qty: number }[];
  promoCode: string | null;
  /** The order's id in the answers. */
  orderId: string | null;
  /** In the order of their requests; each is tried when the one before is acknowledged. */
  moves: Move[];
  review: (Work & { rating: number }) | null;
}

export interface CodeAsked extends Work {
  phone: string;
}

export interface MenuSent extends Work {
  seller: Seller;
  /** The names of its items; the file also has one row that is wrong. */
  names: string[];
  importId: string | null;
}

export interface PictureSent extends Work {
  fileId: string | null;
}

export interface MenuPulled extends Work {
  seller: Seller;
}

/** The clients' requests and their outcomes. */
export interface Journal {
  orders: OrderTaken[];
  codes: CodeAsked[];
  menus: MenuSent[];
  pictures: PictureSent[];
  syncs: MenuPulled[];
}

export const untried = (): Work => ({ outcome: "unknown", attempts: 0 });

export const unexpected = (what: string, { status, text }: Reply) => new Error(`${what}: ${status} ${text}`);

/** The answer, or null when the connection broke or the service answered 503. */
export async function answerTo(request: () => Promise<Reply>): Promise<Reply | null> {
  try {
    const reply = await withTimeout(ANSWER_LIMIT_MS, request());
    return reply.status === 503 ? null : reply;
  } catch (error) {
    // `fetch` throws this when there is no answer
    if (isNativeError(error) && error.name === "TypeError") return null;
    throw error;
  }
}

/** Retries until the outcome is known; sometimes gives up earlier, as clients do. */
export async function settle(work: Work, attempt: () => Promise<Outcome>, random: Random): Promise<void> {
  for (;;) {
    work.attempts += 1;
    work.outcome = await attempt();
    if (work.outcome !== "unknown" || random.between(1, 20) === 1) return;
    await delay(random.between(50, 300));
  }
}
