import type { Enum } from "./enums.js";

export type OrderStatus = Enum<"orderStatus">;
export type OrderActor = Enum<"orderActor">;

/** To which status an order may be moved, from which, and by whom; there are no other moves. */
export const orderMoves = {
  READY: { from: ["ACCEPTED"], by: ["PARTNER"] },
  COMPLETED: { from: ["ACCEPTED", "READY"], by: ["PARTNER"] },
  CANCELLED: { from: ["ACCEPTED", "READY"], by: ["CUSTOMER", "PARTNER"] },
  NO_SHOW: { from: ["ACCEPTED", "READY"], by: ["SERVICE"] },
} as const satisfies Partial<Record<OrderStatus, { from: readonly OrderStatus[]; by: readonly OrderActor[] }>>;

export type OrderMove = keyof typeof orderMoves;

/** What a partner, in person or by its POS, moves its orders to. */
export const partnersOrderMoves = ["READY", "COMPLETED", "CANCELLED"] as const satisfies readonly OrderMove[];
