import { randomUUID } from "node:crypto";
import { signed as signedWith } from "./pos/generic.js";
import { ok, refusal, startVendor } from "./pos/vendor.js";
export { newWebhookSecret as newSecret } from "./pos/generic.js";

export interface TillItem {
  externalId: string;
  name: string;
  category: string;
  price: number;
  description?: string;
  weightGrams?: number;
  available?: boolean;
}

/** An event as the POS tells it. */
export interface TillEvent {
  type: string;
  externalId: string;
  partnerExternalId: string;
  data: Record<string, unknown>;
}

/** A webhook call that is signed as the protocol has it. */
export const signed = (event: TillEvent, secret: string, at = new Date()) => signedWith(event, [secret], at);

/** A point of sale of many partners, which speaks our own protocol; a test writes its menu page by page. */
export async function startTill() {
  const token = `till-${randomUUID()}`;
  const pages: unknown[][] = [[]];
  let failure: { status: number; headers?: Record<string, string> } | null = null;

  const vendor = await startVendor(({ path, query, headers }) => {
    if (headers.authorization !== `Bearer ${token}`) return refusal(401, { error: "who are you?" });
    if (failure) return { ...failure, body: {} };
    if (path === "/health") return ok({ ok: true });
    const page = Number(query.get("cursor") ?? 0);
    return ok({ items: pages[page] ?? [], ...(page + 1 < pages.length ? { nextCursor: String(page + 1) } : {}) });
  });

  return {
    url: vendor.url,
    token,
    /** What was asked of it. */
    asked: vendor.requests,
    /** What an admin enters for a partner; `fields` differ from that. */
    credentials: (accountId: string, fields: Record<string, unknown> = {}) =>
      JSON.stringify({ accountId, baseUrl: vendor.url, token, ...fields }),
    /** Puts a menu in place, page by page. */
    serve(...menu: unknown[][]) {
      pages.splice(0, pages.length, ...menu);
    },
    /** Answers everything with this status from now on; null: no more. */
    fail(status: number | null, headers: Record<string, string> = {}) {
      failure = status === null ? null : { status, headers };
    },
    /** Lets whoever asks wait; answers what lets them go on. */
    hold: () => vendor.hold(),
    stop: vendor.stop,
  };
}

export type Till = Awaited<ReturnType<typeof startTill>>;
