import { z } from "zod";
import { enums } from "./enums.js";

/**
 * A type of the event log. The OpenAPI document, the client's types and the checks of the tests are generated from its
 * declaration. `data` contains ids and small facts, never personal data: a reader with the rights reads the row by its id.
 */
export interface EventType {
  /** Describes to receivers when it happens. */
  summary: string;
  /** False for the platform's own events, which no partner sees. */
  ofPartner: boolean;
  /** The schema of `data`. A breaking change needs a new version; a new field does not. */
  version: number;
  data: z.ZodObject;
}

const Id = z.uuid().meta({ description: "UUID v7", example: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" });
const Cents = z.int().meta({ description: "minor units", example: 24_990 });
const Count = z.int().meta({ example: 5 });
const Moment = z.iso.datetime().meta({ example: "2026-06-01T15:00:00.000Z" });

const box = z.object({
  boxId: Id,
  quantityAvailable: Count,
  priceCents: Cents,
  pickupWindowStart: Moment,
  pickupWindowEnd: Moment,
  hidden: z.boolean().meta({ description: "also when it is deleted" }),
});
const movedOrder = z.object({
  orderId: Id,
  from: z.enum(enums.orderStatus),
  by: z.enum(enums.orderActor),
});
const menuItem = z.object({ menuItemId: Id, priceCents: Cents, available: z.boolean() });
const partner = z.object({
  status: z.enum(enums.partnerStatus),
  from: z.enum(enums.partnerStatus).nullable().meta({ description: "null when it is new" }),
});
const review = z.object({ reviewId: Id, orderId: Id, rating: z.int().min(1).max(5).meta({ example: 5 }) });

const types = {
  "order.placed": {
    summary: "An order was placed.",
    data: z.object({
      orderId: Id,
      amountDueCents: Cents,
      commissionCents: Cents,
      takenElsewhere: z.boolean().meta({ description: "by a POS" }),
    }),
  },
  "order.ready": { summary: "An order can be picked up.", data: movedOrder },
  "order.completed": { summary: "An order was handed over.", data: movedOrder },
  "order.cancelled": { summary: "An order was cancelled.", data: movedOrder },
  "order.no_show": { summary: "An order was not picked up.", data: movedOrder },
  "box.listed": { summary: "A box was listed, by hand or by its repetition.", data: box },
  "box.changed": { summary: "A partner changed, hid, showed or deleted a box.", data: box },
  "box.sold_out": { summary: "The last of a box was sold, or its partner set it to none.", data: box },
  "box.back": { summary: "A box that was sold out can be ordered again.", data: box },
  "box.expired": { summary: "The pickup window of a box has ended.", data: box },
  "menu_item.created": {
    summary: "An item was added to a menu by hand. New items of an import or a sync have no event each: see its end.",
    data: menuItem,
  },
  "menu_item.changed": { summary: "A menu item was changed, or came back from the archive.", data: menuItem },
  "menu_item.archived": { summary: "A menu item was archived.", data: menuItem },
  "menu_import.finished": {
    summary: "The import of a menu as CSV has ended.",
    data: z.object({
      importId: Id,
      status: z.enum(["DONE", "FAILED"]),
      rowsCreated: Count,
      rowsUpdated: Count,
      rowsFailed: Count,
    }),
  },
  "pos_sync.finished": {
    summary: "A pull of the menu from a POS has ended.",
    data: z.object({
      syncId: Id,
      status: z.enum(["DONE", "FAILED"]),
      failure: z.enum(enums.posSyncFailure).nullable(),
      itemsSynced: Count,
      itemsFailed: Count,
      itemsArchived: Count,
    }),
  },
  "partner.registered": { summary: "A partner waits for its review.", data: partner },
  "partner.approved": { summary: "A partner became active, for the first time or again.", data: partner },
  "partner.rejected": { summary: "The registration of a partner was rejected.", data: partner },
  "partner.suspended": { summary: "A partner was suspended.", data: partner },
  "review.published": { summary: "A customer reviewed an order.", data: review },
  "review.moderated": {
    summary: "A review was approved or rejected, also because its order was cancelled or not picked up.",
    data: review.extend({ status: z.enum(["APPROVED", "REJECTED"]) }),
  },
};

const platformsTypes = {
  "points.earned": {
    summary: "A customer earned points.",
    data: z.object({
      userId: Id,
      points: z.int().meta({ example: 24 }),
      orderId: Id.nullable().meta({ description: "null for a welcome by referral" }),
    }),
  },
  "campaign.completed": { summary: "An advertising campaign has ended.", data: z.object({ campaignId: Id }) },
  "file.ready": {
    summary: "An uploaded file can be shown.",
    data: z.object({ fileId: Id, userId: Id, contentType: z.string().meta({ example: "image/webp" }) }),
  },
  "account.deleted": { summary: "A user deleted their account.", data: z.object({ userId: Id }) },
};

const declare = (ofPartner: boolean, of: Record<string, Pick<EventType, "summary" | "data">>) =>
  Object.entries(of).map(([name, type]): [string, EventType] => [name, { ...type, ofPartner, version: 1 }]);

/** All types by name, the partners' first. */
export const eventTypes: ReadonlyMap<string, EventType> = new Map([
  ...declare(true, types),
  ...declare(false, platformsTypes),
]);

/** Returns the name of a type's schema: `OrderPlaced` for `order.placed`. */
export const schemaNameOf = (type: string): string =>
  type.replace(/(?:^|[._])([a-z])/g, (_part, letter: string) => letter.toUpperCase());

/** The test message of an endpoint, which is in no log. */
export const ping: EventType = {
  summary: "The owner of a webhook endpoint tries it. It is of no partner, and at no position of the log.",
  ofPartner: false,
  version: 1,
  data: z.object({ endpointId: Id }),
};

/** Returns the body of a ping. */
export const pingOf = (endpointId: string, now: Date) => ({
  type: "ping",
  timestamp: now.toISOString(),
  version: ping.version,
  position: 0,
  partnerId: null,
  data: { endpointId },
});
