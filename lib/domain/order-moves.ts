export type OrderStatus = "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
export type OrderActor = "CUSTOMER" | "PARTNER" | "SERVICE";

/** To which status an order may be moved, from which, and by whom; there are no other moves. */
export const orderMoves = {
  READY: { from: ["ACCEPTED"], by: ["PARTNER"] },
  COMPLETED: { from: ["ACCEPTED", "READY"], by: ["PARTNER"] },
  CANCELLED: { from: ["ACCEPTED", "READY"], by: ["CUSTOMER", "PARTNER"] },
  NO_SHOW: { from: ["ACCEPTED", "READY"], by: ["SERVICE"] },
} as const satisfies Partial<Record<OrderStatus, { from: readonly OrderStatus[]; by: readonly OrderActor[] }>>;

export type OrderMove = keyof typeof orderMoves;
