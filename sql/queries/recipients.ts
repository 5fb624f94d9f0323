import type { NotificationKind } from "../../lib/domain/notification-kinds.js";
import type { EventKind } from "../../queues/fan-out.js";
import type { Db } from "../db.js";
import { followers, isAtLowestPrice, isBelowLowestPrice, updateLowestPrice, type LargeAudience } from "./followers.js";
import {
  listAdminsOfCampaigns,
  listAdminsOfEndpoints,
  listAuthors,
  listCustomers,
  listCustomersUnlessTheyCancelled,
  listCustomersWithPoints,
  listMembers,
  listMembersIfCustomerCancelled,
  listMembersOfEndpoints,
  listMembersUnlessPosOrder,
  listMembersWithRating,
  listOwners,
  listOwnersOfExports,
  listOwnersOfStatements,
  listReferrersWithPoints,
  listReminderTimes,
  listUsersWithNewLevel,
  type ListRecipients,
} from "./recipient-lists.js";

/** An event with few recipients. Those of many such events are listed in one statement. */
export interface SmallAudience {
  readonly notify: readonly { readonly kind: NotificationKind; readonly to: ListRecipients }[];
  /** A later event about the same subject; `at` returns the time of each that happens. */
  readonly followUp?: {
    readonly event: EventKind;
    readonly at: (db: Db, subjectIds: readonly string[]) => Promise<readonly { subjectId: string; runAt: Date }[]>;
  };
}

/**
 * The recipients of each event, and the kind of notification they get. Texts and conditions of a kind are in
 * `notificationKinds`.
 */
export const recipientsOf: Readonly<Record<EventKind, SmallAudience | LargeAudience>> = {
  ORDER_PLACED: {
    notify: [
      { kind: "ORDER_ACCEPTED", to: listCustomers },
      { kind: "NEW_ORDER", to: listMembersUnlessPosOrder },
    ],
    followUp: { event: "PICKUP_SOON", at: listReminderTimes },
  },
  PICKUP_SOON: { notify: [{ kind: "PICKUP_SOON", to: listCustomers }] },
  ORDER_READY: { notify: [{ kind: "ORDER_READY", to: listCustomers }] },
  ORDER_COMPLETED: {
    notify: [
      { kind: "POINTS_EARNED", to: listCustomersWithPoints },
      { kind: "FRIEND_CAME", to: listReferrersWithPoints },
      { kind: "LEVEL_REACHED", to: listUsersWithNewLevel },
    ],
  },
  ORDER_CANCELLED: {
    notify: [
      { kind: "ORDER_CANCELLED", to: listCustomersUnlessTheyCancelled },
      { kind: "ORDER_CANCELLED_BY_CUSTOMER", to: listMembersIfCustomerCancelled },
    ],
  },
  ORDER_NO_SHOW: { notify: [{ kind: "ORDER_NO_SHOW", to: listCustomers }] },
  REVIEW_PUBLISHED: { notify: [{ kind: "REVIEW_RECEIVED", to: listMembersWithRating }] },
  REVIEW_APPROVED: { notify: [{ kind: "REVIEW_APPROVED", to: listAuthors }] },
  REVIEW_REJECTED: { notify: [{ kind: "REVIEW_REJECTED", to: listAuthors }] },
  PARTNER_OWNED: { notify: [{ kind: "PARTNER_OWNED", to: listOwners }] },
  PARTNER_ACTIVE: { notify: [{ kind: "PARTNER_APPROVED", to: listMembers }] },
  PARTNER_REJECTED: { notify: [{ kind: "PARTNER_REJECTED", to: listMembers }] },
  PARTNER_SUSPENDED: { notify: [{ kind: "PARTNER_SUSPENDED", to: listMembers }] },
  CAMPAIGN_COMPLETED: { notify: [{ kind: "CAMPAIGN_COMPLETED", to: listAdminsOfCampaigns }] },
  DATA_EXPORT_READY: { notify: [{ kind: "DATA_EXPORT_READY", to: listOwnersOfExports }] },
  WEBHOOK_STOPPED: {
    notify: [
      { kind: "WEBHOOK_STOPPED", to: listMembersOfEndpoints },
      { kind: "PLATFORM_WEBHOOK_STOPPED", to: listAdminsOfEndpoints },
    ],
  },
  WEBHOOK_BACK: {
    notify: [
      { kind: "WEBHOOK_BACK", to: listMembersOfEndpoints },
      { kind: "PLATFORM_WEBHOOK_BACK", to: listAdminsOfEndpoints },
    ],
  },
  STATEMENT_READY: { notify: [{ kind: "STATEMENT_READY", to: listOwnersOfStatements }] },
  BOX_LISTED: followers("PARTNER", "FAVORITE_LISTED", { times: 3, inHours: 24 }),
  BOX_BACK: followers("BOX", "BOX_BACK", { times: 1, inHours: 6 }),
  BOX_CHEAPER: {
    ...followers("BOX", "BOX_CHEAPER", { times: 1, inHours: 6 }),
    applies: isBelowLowestPrice,
    finishFirst: updateLowestPrice,
    stillApplies: isAtLowestPrice,
  },
};
