import { sql } from "../../../sql/db.js";
import { isOwner } from "../../../sql/queries/staff.js";
import { notTheOwner } from "../../http/refusals.js";

/**
 * Returns the owner of a caller's webhook endpoints: a partner's id, or null for the platform. Throws 403 for staff, because an
 * endpoint keeps receiving events after they have left.
 */
export async function ownerOf(user: { id: string } | null, partner: { id: string } | null): Promise<string | null> {
  if (partner === null) return null;
  if (user === null || !(await isOwner(sql, partner.id, user.id))) throw notTheOwner();
  return partner.id;
}
