import { enums } from "../lib/domain/enums.js";
import type { PosChange } from "../lib/pos/adapter.js";
import { orderNumberOf, PosChangeJson } from "../lib/pos/event.js";
import { limits } from "../lib/domain/limits.js";
import { toMajor } from "../lib/domain/money.js";
import { partnersOrderMoves } from "../lib/domain/order-moves.js";
import { readPhone } from "../lib/domain/phone.js";
import { sha256 } from "../lib/security/crypto.js";
import { newPickupCode } from "../lib/security/pickup-code.js";
import type { Db } from "../sql/db.js";
import { moveOrder, placeOrder, type Placement } from "../sql/queries/orders.js";
import type { PosEventRow } from "../sql/queries/pos-events.js";
import { listItemsByExternalId, updateAvailability } from "../sql/queries/pos-menu.js";
import { findCustomer, findPosOrder, insertPosOrder } from "../sql/queries/pos-orders.js";
import { requestPosSync } from "../sql/queries/pos-syncs.js";

const MINUTE_MS = 60_000;
/** The highest price of an item: a larger total is an error of the till and would distort reports. */
const MAX_TOTAL_MINOR = limits.priceMinor;

/** Orders that a partner's POS gives to one user in a day, as anyone's phone may be typed into a till; the others belong to no account. */
const MAX_ORDERS_A_DAY = 10;

/** The event cannot be applied now; the message is for admins and quotes nothing of the event. */
export class CannotApply extends Error {
  override name = "CannotApply";
  constructor(
    message: string,
    /** After how long a retry may succeed. */
    readonly retryInMs = 0,
    /** Whether a sync of the menu may help. */
    readonly needsMenu = false,
  ) {
    super(message);
  }
}

type Change<K extends PosChange["kind"]> = Extract<PosChange, { kind: K }>;

/** Applies an event's change in the transaction that settles the event; returns what could not be done, for admins. Throws CannotApply. */
export async function applyChange(tx: Db, event: PosEventRow): Promise<string | null> {
  const { success, data: change } = PosChangeJson.safeParse(event.change);
  if (!success) throw new CannotApply("the event has an unknown form");
  switch (change.kind) {
    case "menu.updated":
      return (await requestSync(tx, event)) === undefined
        ? "the partner is suspended or rejected, and its menu is not read"
        : null;
    case "item.availability":
      return applyAvailability(tx, event, change);
    case "order.created":
      await applyOrder(tx, event, change);
      return null;
    case "order.status":
      await applyStatus(tx, event, change);
      return null;
  }
}

const requestSync = (tx: Db, { partnerId, requestId }: PosEventRow) =>
  requestPosSync(tx, partnerId, { byUser: false, requestId });

async function applyAvailability(
  tx: Db,
  event: PosEventRow,
  { items }: Change<"item.availability">,
): Promise<string | null> {
  // of two entries for one item the last counts
  const latest = [...new Map(items.map((item) => [item.externalId, item])).values()];
  const known = await updateAvailability(tx, event.partnerId, latest);
  // the event may be late, or about items that the menu does not have, so the POS's menu is pulled too
  await requestSync(tx, event);
  if (known === latest.length) return null;
  return `${latest.length - known} of ${latest.length} items are not in the menu from the POS`;
}

/** Returns the lines of a POS order by the menu's item ids, each item once. */
async function linesOf(tx: Db, { partnerId }: PosEventRow, { items }: Change<"order.created">) {
  const wanted = new Map<string, number>();
  for (const { externalId, qty } of items) wanted.set(externalId, (wanted.get(externalId) ?? 0) + qty);
  if (wanted.size === 0 || wanted.size > limits.order.lines)
    throw new CannotApply(`an order has 1 to ${limits.order.lines} items`);
  if ([...wanted.values()].some((qty) => qty < 1 || qty > limits.order.pieces))
    throw new CannotApply(`an order has 1 to ${limits.order.pieces} of an item`);
  const found = await listItemsByExternalId(tx, partnerId, [...wanted.keys()]);
  if (found.length < wanted.size)
    throw new CannotApply("the menu does not have some of the items", 10 * MINUTE_MS, true);
  return found.map(({ id, externalId }) => ({ id, qty: wanted.get(externalId) ?? 0 }));
}

async function applyOrder(tx: Db, event: PosEventRow, change: Change<"order.created">): Promise<void> {
  const { partnerId, provider, account, eventId, requestId } = event;
  const number = orderNumberOf(eventId);
  if ((await findPosOrder(tx, event, number)) !== undefined) return;
  if (change.totalMinor > MAX_TOTAL_MINOR)
    throw new CannotApply(`an order comes to ${toMajor(MAX_TOTAL_MINOR)} at most`);
  const items = await linesOf(tx, event, change);
  const phone = change.customerPhone === null ? null : readPhone(change.customerPhone);
  // a till cannot consent for its customer, so no account is created
  const userId = phone === null ? null : ((await findCustomer(tx, phone, partnerId, MAX_ORDERS_A_DAY)) ?? null);
  // has blanks, which a client's key cannot have; account and number may have them too
  const key = `pos ${provider} ${partnerId} ${JSON.stringify([account, number])}`;
  const placement = await placeOrder(tx, {
    userId,
    partnerId,
    items,
    totalMinor: change.totalMinor,
    address: change.address?.trim().slice(0, limits.text.address) ?? null,
    promoCode: null,
    takenElsewhere: true,
    idempotency: userId === null ? null : { key, fingerprint: sha256(key) },
    pickupCode: newPickupCode(),
    requestId,
  });
  if (placement.outcome !== "PLACED" && placement.outcome !== "DUPLICATE") throw refusalOf(placement.outcome);
  await insertPosOrder(tx, event, number, placement.orderId);
}

function refusalOf(outcome: Exclude<Placement["outcome"], "PLACED" | "DUPLICATE">): CannotApply {
  switch (outcome) {
    case "WRONG_TOTAL":
      return new CannotApply("the total is not the sum of the menu's prices", 10 * MINUTE_MS, true);
    case "UNKNOWN_ITEMS":
      return new CannotApply("some of the items are not on offer", 10 * MINUTE_MS, true);
    case "PARTNER_INACTIVE":
    case "NO_PARTNER":
      return new CannotApply("the partner does not take orders at the moment");
    default:
      return new CannotApply(`the order was refused: ${outcome}`);
  }
}

async function applyStatus(tx: Db, event: PosEventRow, change: Change<"order.status">): Promise<void> {
  const { partnerId, requestId } = event;
  const status = change.status.toUpperCase();
  const move = partnersOrderMoves.find((known) => known === status);
  if (move === undefined) {
    // orders begin as ACCEPTED, and only the service sets NO_SHOW
    if (enums.orderStatus.some((known) => known === status)) return;
    throw new CannotApply("orders do not have this status");
  }
  const orderId = await findPosOrder(tx, event, change.orderExternalId);
  // when the order arrives, this event is retried
  if (orderId === undefined) throw new CannotApply("the order has not arrived", 60 * MINUTE_MS);
  // a move that the order's status does not allow came too late and is ignored
  await moveOrder(tx, orderId, move, { actor: "PARTNER", userId: null, partnerId }, { requestId });
}
