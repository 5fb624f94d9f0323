import { done } from "./answers.js";
import { placeOrder, readOrder, type Order, type OrderReceipt } from "./operations.js";
import type { Session } from "./session.js";

export type NewOrder = Parameters<typeof placeOrder>[0]["body"];

/**
 * Places an order once, however often the request has to be sent: with the same key also after the app was closed. Throws
 * `Refused`.
 */
export async function placeOrderOnce(
  order: NewOrder,
  session: Session,
  idempotencyKey: string = crypto.randomUUID(),
): Promise<OrderReceipt | Order> {
  const answer = await placeOrder({ idempotencyKey, body: order }, session);
  // the order was placed by a request whose answer was lost
  if (answer.status === 409 && answer.data.reason === "DUPLICATE")
    return done(readOrder({ id: answer.data.orderId }, session));
  return done(Promise.resolve(answer));
}
