import { z } from "zod";
import { sql } from "../../../sql/db.js";
import {
  acceptInvitation,
  declineInvitation,
  deleteStaff,
  insertInvitation,
  isOwner,
  listInvitations,
  listOwnInvitations,
  listStaff,
} from "../../../sql/queries/staff.js";
import { alreadyMember } from "./refusals.js";
import { created, found, noContent, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { refusalWith } from "../../http/refusal.js";
import { notFound, notTheOwner } from "../../http/refusals.js";
import { Id, Phone, Timestamp } from "../../http/schemas.js";

const mostStaff = 100;

const Invited = z
  .object({
    id: Id,
    userId: z.null().meta({ description: "null until the invitation is accepted" }),
    phone: Phone,
  })
  .meta({ id: "StaffInvitation" });

const StaffMember = z
  .object({
    id: Id,
    userId: Id.nullable().meta({ description: "null for an invitation" }),
    phone: Phone,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    since: Timestamp,
  })
  .meta({ id: "StaffMember" });

const staffFull = refusalWith(409, "CONFLICT", "STAFF_FULL", {
  detail: ({ maxStaff }) => `A partner has at most ${maxStaff} staff.`,
  remedy: "Remove a staff member, or withdraw an invitation.",
  facts: { maxStaff: z.int() },
  example: { maxStaff: mostStaff },
});

export const staff = section({ prefix: "/partners/me/staff", tag: "Partners" });

staff.get(
  "/",
  {
    name: "listStaff",
    summary: "List your partner's staff and invitations",
    auth: "PARTNER",
    answers: { 200: z.array(StaffMember) },
  },
  async ({ partner }) => {
    const [members, invited] = await Promise.all([listStaff(sql, partner.id), listInvitations(sql, partner.id)]);
    return ok([
      ...members.map((row) => ({ ...row, userId: row.id })),
      ...invited.map((row) => ({ ...row, userId: null, firstName: null, lastName: null })),
    ]);
  },
);

staff.post(
  "/",
  {
    name: "inviteStaff",
    summary: "Invite a user to your partner's staff",
    description:
      "For the owner. The user with this phone joins by accepting (`POST /users/me/invitations/{id}/accept`), now or after " +
      "their first login, within 30 days. Inviting them again changes nothing and returns 200.",
    auth: "ACTIVE_PARTNER",
    body: z.object({ phone: Phone }),
    answers: { 200: Invited, 201: Invited },
    errors: [staffFull, notTheOwner],
  },
  async ({ user, partner, body: { phone } }) => {
    const invited = await insertInvitation(sql, partner.id, user.id, phone, mostStaff);
    switch (invited?.outcome) {
      case undefined:
        throw notTheOwner();
      case "FULL":
        throw staffFull({ maxStaff: mostStaff });
      case "KNOWN":
        return ok({ id: invited.id, userId: null, phone });
      case "INVITED":
        return created({ id: invited.id, userId: null, phone });
    }
  },
);

staff.delete(
  "/:id",
  {
    name: "removeStaff",
    summary: "Remove a staff member, or withdraw an invitation",
    description:
      "By the `id` of the list. For the owner, and for staff who leave. A partner without owner and staff is suspended.",
    auth: "PARTNER",
    answers: { 204: null },
    errors: [notTheOwner],
  },
  async ({ user, partner, params: { id } }) => {
    if (await deleteStaff(sql, partner.id, user.id, id)) return noContent();
    throw (await isOwner(sql, partner.id, user.id)) ? notFound("This staff member") : notTheOwner();
  },
);

export const invitations = section({ prefix: "/users/me/invitations", tag: "Partners" });

invitations.get(
  "/",
  {
    name: "listInvitations",
    summary: "List your invitations to partners' staff, oldest first",
    auth: "USER",
    query: PageQuery,
    answers: {
      200: z.array(
        z.object({ id: Id, partnerId: Id, partnerName: z.string(), since: Timestamp }).meta({ id: "OwnInvitation" }),
      ),
    },
  },
  ({ user, query, address }) => page(address, query, (after, limit) => listOwnInvitations(sql, user.id, after, limit)),
);

invitations.post(
  "/:id/accept",
  {
    name: "acceptInvitation",
    summary: "Join the staff of a partner",
    description: "A user works for one partner at most, and not while owning another.",
    auth: "USER",
    answers: { 200: z.object({ partnerId: Id }) },
    errors: [alreadyMember],
  },
  async ({ user, params: { id } }) => {
    const accepted = found(await acceptInvitation(sql, id, user.id), "This invitation");
    if (accepted.outcome === "TAKEN") throw alreadyMember();
    return ok({ partnerId: accepted.partnerId });
  },
);

invitations.delete(
  "/:id",
  { name: "declineInvitation", summary: "Decline an invitation", auth: "USER", answers: { 204: null } },
  async ({ user, params: { id } }) => {
    if (!(await declineInvitation(sql, id, user.id))) throw notFound("This invitation");
    return noContent();
  },
);
