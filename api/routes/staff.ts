import { z } from "zod";
import { ApiError, conflict, notFound } from "../../lib/errors.js";
import { sql } from "../../sql/db.js";
import { deleteStaff, insertStaff, isOwner, listInvitations, listStaff } from "../../sql/queries/staff.js";
import { created, noContent, ok, section } from "../endpoint.js";
import { Id, IdParams, Phone, Timestamp } from "../schemas.js";

const mostStaff = 100;

const Added = z
  .object({
    id: Id,
    userId: Id.nullable().meta({ description: "null until somebody logs in with this phone" }),
    phone: Phone,
  })
  .meta({ id: "AddedStaff" });

const StaffMember = Added.extend({
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  since: Timestamp,
}).meta({ id: "StaffMember" });

const notTheOwner = () => new ApiError(403, "FORBIDDEN", "This is for the partner's owner.");

export const staff = section({ prefix: "/partners/me/staff", tag: "Partners" });

staff.get(
  "/",
  {
    summary: "List the own staff, with who is invited",
    auth: "PARTNER",
    answers: { 200: z.array(StaffMember) },
  },
  async ({ partner }) => {
    const [members, invited] = await Promise.all([listStaff(sql, partner.id), listInvitations(sql, partner.id)]);
    return ok([
      ...members.map((row) => ({ ...row, userId: row.id, since: row.since.toISOString() })),
      ...invited.map((row) => ({
        ...row,
        userId: null,
        firstName: null,
        lastName: null,
        since: row.since.toISOString(),
      })),
    ]);
  },
);

staff.post(
  "/",
  {
    summary: "Add someone to the own staff",
    description:
      "For the owner. Whoever has no account yet joins when they first log in with this phone. Nobody works for two partners. " +
      "Adding someone again changes nothing, and the answer is 200.",
    auth: "PARTNER",
    body: z.object({ phone: Phone }),
    answers: { 200: Added, 201: Added },
    errors: ["409 CONFLICT"],
  },
  async ({ user, partner, body: { phone } }) => {
    const added = await insertStaff(sql, partner.id, user.id, phone, mostStaff);
    switch (added?.outcome) {
      case undefined:
        throw notTheOwner();
      case "TAKEN":
        throw conflict("This person owns or works for a partner already.");
      case "FULL":
        throw conflict(`A partner has at most ${mostStaff} staff.`);
      case "KNOWN":
        return ok({ id: added.id, userId: added.userId, phone });
      case "ADDED":
        return created({ id: added.id, userId: added.userId, phone });
    }
  },
);

staff.delete(
  "/:id",
  {
    summary: "Take someone out of the own staff, or an invitation back",
    description: "By the `id` of the list. For the owner, and for whoever leaves.",
    auth: "PARTNER",
    params: IdParams,
    answers: { 204: null },
  },
  async ({ user, partner, params: { id } }) => {
    if (await deleteStaff(sql, partner.id, user.id, id)) return noContent();
    throw (await isOwner(sql, partner.id, user.id)) ? notFound("This member of the staff") : notTheOwner();
  },
);
