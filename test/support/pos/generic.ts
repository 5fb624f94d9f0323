import { randomBytes, randomUUID } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { deliver, ok, refusal, startVendor, type SignedCall, type StandInItem } from "./vendor.js";

/** A secret in the format of Standard Webhooks. */
export const newWebhookSecret = () => `whsec_${randomBytes(24).toString("base64")}`;

/** A webhook call with an event or another body, signed with each of `keys` as the protocol requires. */
export function signed(sent: unknown, keys: readonly string[], at = new Date()): SignedCall {
  const body = typeof sent === "string" ? sent : JSON.stringify(sent);
  const id = `msg_${randomUUID()}`;
  return {
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": keys.map((key) => new Webhook(key).sign(id, at, body)).join(" "),
    },
    body,
  };
}

/** A partner's own system that speaks the generic protocol. */
export async function startGenericPos({ pageSize = 100 } = {}) {
  const account = `shop-${randomUUID().slice(0, 8)}`;
  const token = randomUUID();
  const secret = newWebhookSecret();
  let menu: readonly unknown[] = [];

  const vendor = await startVendor(({ method, path, query, headers }) => {
    if (headers.authorization !== `Bearer ${token}`) return refusal(401, { error: "unknown token" });
    if (method === "GET" && path === "/health") return ok({ status: "ok" });
    if (method === "GET" && (path === "/menu" || path.startsWith("/menu?"))) {
      const start = Number(query.get("cursor") ?? 0);
      const end = start + pageSize;
      return ok({ items: menu.slice(start, end), ...(end < menu.length ? { nextCursor: String(end) } : {}) });
    }
    return refusal(404, { error: "no such thing" });
  });

  const event = (type = "menu.updated", data: Record<string, unknown> = {}, externalId: string = randomUUID()) => ({
    type,
    externalId,
    partnerExternalId: account,
    data,
  });

  /** Signs an event at the time `at` with the secrets `keys`. */
  const sign = (sent: unknown = event(), { at = new Date(), keys = [secret] } = {}) => signed(sent, keys, at);

  return {
    ...vendor,
    account,
    secret,
    token,
    credentials: { accountId: account, baseUrl: vendor.url, token },
    event,
    sign,
    /** A call with this event, by default `menu.updated`. */
    send: (to: string, sent: unknown = event()) => deliver(to, sign(sent)),
    /** Sets the menu; an item's `price` is in major units. */
    setMenu: (items: readonly unknown[]) => void (menu = items),
    serve(items: readonly StandInItem[]): void {
      menu = items.map(({ id, price, available = true, ...rest }) => ({
        externalId: id,
        price: price / 100,
        available,
        ...rest,
      }));
    },
  };
}
