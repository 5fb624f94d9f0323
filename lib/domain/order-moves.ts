import type { Enum } from "./enums.js";

export type OrderStatus = Enum<"orderStatus">;
export type OrderActor = Enum<"orderActor">;

/** Every status move that an order allows: to, from and by whom. */
export const orderMoves = {
  READY: { from: ["ACCEPTED"], by: ["PARTNER"] },
  COMPLETED: { from: ["ACCEPTED", "READY"], by: ["PARTNER"] },
  CANCELLED: { from: ["ACCEPTED", "READY"], by: ["CUSTOMER", "PARTNER"] },
  NO_SHOW: { from: ["ACCEPTED", "READY"], by: ["SERVICE"] },
} as const satisfies Partial<Record<OrderStatus, { from: readonly OrderStatus[]; by: readonly OrderActor[] }>>;

export type OrderMove = keyof typeof orderMoves;

/** The statuses that a partner moves its orders to, in person or by its POS. */
export const partnersOrderMoves = ["READY", "COMPLETED", "CANCELLED"] as const satisfies readonly OrderMove[];
