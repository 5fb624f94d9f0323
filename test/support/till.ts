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

/** An event as the POS sends it. */
export interface TillEvent {
  type: string;
  externalId: string;
  partnerExternalId: string;
  data: Record<string, unknown>;
}

/** A webhook call, signed as the protocol requires. */
export const signed = (event: TillEvent, secret: string, at = new Date()) => signedWith(event, [secret], at);

/** A POS of many partners that speaks the generic protocol; a test sets its menu page by page. */
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
    /** The received requests. */
    asked: vendor.requests,
    /** A partner's credentials as an admin enters them, with changed `fields`. */
    credentials: (accountId: string, fields: Record<string, unknown> = {}) =>
      JSON.stringify({ accountId, baseUrl: vendor.url, token, ...fields }),
    /** Sets the menu, page by page. */
    serve(...menu: unknown[][]) {
      pages.splice(0, pages.length, ...menu);
    },
    /** Answers every request with this status from now on; null ends that. */
    fail(status: number | null, headers: Record<string, string> = {}) {
      failure = status === null ? null : { status, headers };
    },
    /** Delays answers until the returned function is called. */
    hold: () => vendor.hold(),
    stop: vendor.stop,
  };
}

export type Till = Awaited<ReturnType<typeof startTill>>;
