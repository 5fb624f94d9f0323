import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { refusal, refusalWith } from "../../http/refusal.js";

export const alreadyMember = refusal(
  409,
  "CONFLICT",
  "ALREADY_MEMBER",
  "You own or work for a partner already.",
  "Leave that partner first, or decline it.",
);
export const tooManyRegistrations = refusalWith(409, "CONFLICT", "TOO_MANY_REGISTRATIONS", {
  detail: ({ maxRegistrations }) =>
    `${maxRegistrations} registrations with this phone wait for review; log in with it to decline them.`,
  remedy: "Log in with the phone and register again, or decline the others: `POST /partners/me/decline`.",
  facts: { maxRegistrations: z.int() },
  example: { maxRegistrations: 3 },
});
export const partnerNotDeclinable = refusal(
  409,
  "CONFLICT",
  "PARTNER_NOT_DECLINABLE",
  "Only its owner declines a partner, and only one that was registered with their phone.",
  "An admin may change the owner.",
);
export const partnerMoveNotAllowed = refusalWith(409, "CONFLICT", "PARTNER_MOVE_NOT_ALLOWED", {
  detail: ({ partnerStatus }) => `A partner that is ${partnerStatus} does not allow this move.`,
  remedy: "Another admin moved the partner: show its `partnerStatus`.",
  facts: { partnerStatus: z.enum(enums.partnerStatus) },
  example: { partnerStatus: "SUSPENDED" },
});
export const ownerPhoneTaken = refusal(
  409,
  "CONFLICT",
  "OWNER_PHONE_TAKEN",
  "Another active partner has this owner's phone.",
  "Give one of the partners another owner: `PUT /admin/partners/{id}/owner`.",
);
export const ownerTaken = refusal(
  409,
  "CONFLICT",
  "OWNER_TAKEN",
  "This user owns, or will own, another partner.",
  "A user owns one partner at most: name another phone.",
);
