import { randomBytes, randomUUID } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { deliver, ok, refusal, startVendor, type SignedCall, type StandInItem } from "./vendor.js";

/** A secret as the Standard Webhooks have it. */
export const newWebhookSecret = () => `whsec_${randomBytes(24).toString("base64")}`;

/** A call that tells of an event, or of a body that is none, signed with every one of `keys` as the protocol has it. */
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

/** An item of the generic menu; `price` is in major units. */
export type GenericItem = Record<string, unknown>;

/** A system of the partner's own that speaks the generic protocol. */
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

  /** Signs an event; `at` is when, `keys` are the secrets to sign with. */
  const sign = (sent: unknown = event(), { at = new Date(), keys = [secret] } = {}) => signed(sent, keys, at);

  return {
    ...vendor,
    account,
    secret,
    token,
    credentials: { accountId: account, baseUrl: vendor.url, token },
    event,
    sign,
    /** Sends an event; the one that makes one read the menu again when none is given. */
    send: (to: string, sent: unknown = event()) => deliver(to, sign(sent)),
    /** The menu, item by item. */
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
