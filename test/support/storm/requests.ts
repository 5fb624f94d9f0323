import { randomUUID } from "node:crypto";
import { toMajor } from "../../../lib/domain/money.js";
import type { Client } from "../api.js";
import type { Character } from "../cast.js";
import { fileForm } from "../pictures.js";
import { signed, type TillEvent } from "../till.js";
import {
  answerTo,
  unexpected,
  type CodeAsked,
  type MenuSent,
  type Move,
  type OrderTaken,
  type Outcome,
  type PictureSent,
} from "./journal.js";
import { ALWAYS, type Seller } from "./market.js";

// One attempt at each kind of work: the request, and what its answer means.

export async function place(order: OrderTaken, { client }: Character): Promise<Outcome> {
  const prices = new Map(order.seller.products.map(({ id, priceMinor }) => [id, priceMinor]));
  const total = order.lines.reduce((sum, { id, qty }) => sum + (prices.get(id) ?? 0) * qty, 0);
  const body = {
    items: order.lines.map(({ id, qty }) => ({ menuItemId: id, qty })),
    totalAmount: toMajor(total),
    partnerId: order.seller.id,
    ...(order.promoCode !== null && { promoCode: order.promoCode }),
  };
  const reply = await answerTo(() =>
    client.post("/api/v1/orders", body, { headers: { "idempotency-key": order.key } }),
  );
  if (reply === null) return "unknown";
  if (reply.status === 409 && reply.body["code"] === "CONFLICT" && "available" in reply.body) return "refused";
  if (reply.body["code"] === "INVALID_PROMO") return "refused";
  if (reply.status !== 201 && reply.body["code"] !== "DUPLICATE") throw unexpected("an order", reply);
  order.orderId = reply.string("orderId");
  return "ok";
}

export async function move({ orderId, seller }: OrderTaken, moved: Move, customer: Character): Promise<Outcome> {
  const path = `/api/v1/orders/${String(orderId)}`;
  const reply = await answerTo(() =>
    moved.by === "CUSTOMER"
      ? customer.client.post(`${path}/cancel`)
      : seller.owner.client.put(`${path}/status`, { status: moved.status }),
  );
  if (reply === null) return "unknown";
  if (reply.status !== 200) throw unexpected(`a move to ${moved.status}`, reply);
  return "ok";
}

export async function review({ orderId }: OrderTaken, rating: number, { client }: Character): Promise<Outcome> {
  const reply = await answerTo(() => client.post("/api/v1/reviews", { orderId, rating, text: "Вкусно!" }));
  if (reply === null) return "unknown";
  // the first attempt's answer was lost
  if (reply.status === 409 && reply.text.includes("has a review already")) return "ok";
  if (reply.status !== 201) throw unexpected("a review", reply);
  return "ok";
}

export async function sendEvent(event: TillEvent, { tillSecret }: Seller, client: Client): Promise<Outcome> {
  const { body, headers } = signed(event, tillSecret);
  const reply = await answerTo(() => client.send("post", "/api/v1/pos/webhooks/generic", body, { headers }));
  if (reply === null) return "unknown";
  if (reply.status !== 200) throw unexpected("an event", reply);
  return "ok";
}

export const tillOrder = ({ key, lines, seller }: OrderTaken): TillEvent => {
  const qty = lines[0]?.qty ?? 0;
  const data = { items: [{ externalId: ALWAYS, qty }], totalAmount: 120 * qty };
  return { type: "order.created", externalId: key, partnerExternalId: seller.id, data };
};

export const tillMove = ({ key, seller }: OrderTaken, { status }: Move): TillEvent => ({
  type: "order.status",
  externalId: randomUUID(),
  partnerExternalId: seller.id,
  data: { orderExternalId: key, status },
});

export async function sendCode({ phone }: CodeAsked, client: Client): Promise<Outcome> {
  const reply = await answerTo(() => client.post("/api/v1/auth/otp/send", { phone }));
  if (reply === null) return "unknown";
  if (reply.status === 429) return "refused";
  if (reply.status !== 200) throw unexpected("a code", reply);
  return "ok";
}

/** Half of the rows have an external id, the others are known by their names. */
export async function sendMenu(menu: MenuSent): Promise<Outcome> {
  const rows = menu.names.map((name, n) => `${name},Storm,${n + 1}.50,${n % 2 === 0 ? name : ""}`);
  const file = ["name,category,price,externalId", ...rows, "wrong,Storm,dear,"].join("\n");
  const reply = await answerTo(() =>
    menu.seller.owner.client.send("post", "/api/v1/menu/import/csv", file, {
      headers: { "content-type": "text/csv" },
    }),
  );
  if (reply === null) return "unknown";
  if (reply.status !== 200 && reply.status !== 202) throw unexpected("a menu", reply);
  menu.importId = reply.string("importId");
  return "ok";
}

export async function sendPicture(sent: PictureSent, bytes: Uint8Array, { client }: Character): Promise<Outcome> {
  const reply = await answerTo(() => client.post("/api/v1/files/upload", fileForm(bytes, "image/jpeg")));
  if (reply === null) return "unknown";
  if (reply.status !== 201 && reply.status !== 202) throw unexpected("a picture", reply);
  sent.fileId = reply.string("fileId");
  return "ok";
}

export async function pullMenu({ owner }: Seller): Promise<Outcome> {
  const reply = await answerTo(() => owner.client.post("/api/v1/menu/pos/sync"));
  if (reply === null) return "unknown";
  if (reply.status !== 200 && reply.status !== 202) throw unexpected("a sync", reply);
  return "ok";
}
