import { z } from "zod";
import { sql, transaction } from "../../../sql/db.js";
import {
  deleteRate,
  findGlobalRate,
  findPartnerRate,
  listRateChanges,
  updateRate,
} from "../../../sql/queries/commissions.js";
import { found, noContent, ok, section } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { page, PageQuery } from "../../http/pagination.js";
import { Id, Percent, Timestamp } from "../../http/schemas.js";

const CommissionRate = z
  .object({
    ratePercent: z.number(),
    override: z.boolean().meta({ description: "whether this rate was set here; false when it is inherited" }),
  })
  .meta({ id: "CommissionRate" });

const NewRate = z.object({ ratePercent: Percent });

export const commissions = section({ prefix: "/admin/commissions", tag: "Commissions" });

commissions.get(
  "/global",
  { name: "readGlobalCommission", summary: "Read the global rate", auth: "ADMIN", answers: { 200: CommissionRate } },
  async () => ok(await findGlobalRate(sql)),
);

commissions.put(
  "/global",
  {
    name: "setGlobalCommission",
    summary: "Set the global rate",
    description: "Applies to new orders of partners without their own rate.",
    auth: "ADMIN",
    body: NewRate,
    answers: { 200: CommissionRate },
  },
  async ({ user, body }) => {
    await transaction((tx) => updateRate(tx, null, body.ratePercent, user.id));
    return ok(await findGlobalRate(sql));
  },
);

const partnerRate = async (id: string) => found(await findPartnerRate(sql, id), "This partner");

commissions.get(
  "/partners/:id",
  { name: "readPartnerCommission", summary: "Read a partner's rate", auth: "ADMIN", answers: { 200: CommissionRate } },
  async ({ params: { id } }) => ok(await partnerRate(id)),
);

commissions.put(
  "/partners/:id",
  {
    name: "setPartnerCommission",
    summary: "Set a partner's own rate",
    description: "Applies to new orders.",
    auth: "ADMIN",
    body: NewRate,
    answers: { 200: CommissionRate },
  },
  async ({ user, params: { id }, body }) => {
    const set = await transaction((tx) => updateRate(tx, id, body.ratePercent, user.id));
    if (!set) throw notFound("This partner");
    return ok(await partnerRate(id));
  },
);

commissions.delete(
  "/partners/:id",
  {
    name: "removePartnerCommission",
    summary: "Remove a partner's own rate",
    description: "The global rate applies at once.",
    auth: "ADMIN",
    answers: { 204: null },
  },
  async ({ user, params: { id } }) => {
    await partnerRate(id);
    await deleteRate(sql, id, user.id);
    return noContent();
  },
);

commissions.get(
  "/changes",
  {
    name: "listCommissionChanges",
    summary: "List the changes of rates, newest first",
    auth: "ADMIN",
    query: PageQuery,
    answers: {
      200: z.array(
        z
          .object({
            id: Id,
            partnerId: Id.nullable().meta({ description: "null for the global rate" }),
            actorId: Id.nullable(),
            oldPercent: z.number().nullable().meta({ description: "null when none was set" }),
            newPercent: z.number().nullable().meta({ description: "null when the rate was removed" }),
            at: Timestamp,
          })
          .meta({ id: "CommissionChange" }),
      ),
    },
  },
  ({ query, address }) => page(address, query, (after, limit) => listRateChanges(sql, after, limit)),
);
