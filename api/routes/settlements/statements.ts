import { z } from "zod";
import { sql } from "../../../sql/db.js";
import { isOwner } from "../../../sql/queries/staff.js";
import { findOwnStatement, listOwnStatements, listStatementLines } from "../../../sql/queries/statements.js";
import { found, ok, section } from "../../http/endpoint.js";
import { Limit, page, pageBy, PageQuery, pageQuery } from "../../http/pagination.js";
import { notFound, notTheOwner } from "../../http/refusals.js";
import { answerExtract, extractAnswers, ExtractDays, extractsUsedUp, ofExtracts } from "./extracts.js";
import { LineView, presentLine, presentStatement, StatementView } from "./schemas.js";

export const statements = section({ prefix: "/partners/me/statements", tag: "Settlements" });

/** Throws 403 for staff, who work for the partner but do not see what it earns. */
async function refuseStaff(partnerId: string, userId: string): Promise<void> {
  if (!(await isOwner(sql, partnerId, userId))) throw notTheOwner();
}

const findStatement = async (id: string, partnerId: string, userId: string) =>
  found(await findOwnStatement(sql, id, partnerId, userId), "This statement");

statements.get(
  "/",
  {
    name: "listStatements",
    summary: "List your partner's statements, newest first",
    description:
      "For the owner. A month's statement is made when the month has ended, and is never changed: what is booked later is on the next one. " +
      "A month in which nothing happened has none. Extracts are listed too.",
    auth: "PARTNER",
    query: PageQuery,
    answers: { 200: z.array(StatementView) },
    errors: [notTheOwner],
    csv: true,
  },
  async ({ user, partner, query, address }) => {
    await refuseStaff(partner.id, user.id);
    const list = (after: string | null, limit: number) => listOwnStatements(sql, partner.id, user.id, after, limit);
    return page(address, query, list, presentStatement);
  },
);

statements.post(
  "/",
  {
    name: "makeExtract",
    summary: "Make an extract: a statement of other days than a month",
    description: `For the owner of a partner that was active once. ${ofExtracts} You are notified when its document is ready.`,
    auth: "PARTNER",
    body: ExtractDays,
    answers: extractAnswers,
    errors: [notTheOwner, notFound, extractsUsedUp],
  },
  async ({ user, partner, body, requestId }) => {
    await refuseStaff(partner.id, user.id);
    const find = (id: string) => findOwnStatement(sql, id, partner.id, user.id);
    return answerExtract(partner.id, body, { user, requestId }, "OWNER", find);
  },
);

statements.get(
  "/:id",
  {
    name: "readStatement",
    summary: "Read one of your partner's statements",
    description: "For the owner.",
    auth: "PARTNER",
    answers: { 200: StatementView },
    errors: [notTheOwner],
    csv: true,
  },
  async ({ user, partner, params }) => {
    await refuseStaff(partner.id, user.id);
    return ok(presentStatement(await findStatement(params.id, partner.id, user.id)));
  },
);

statements.get(
  "/:id/lines",
  {
    name: "listStatementLines",
    summary: "List the orders, payments and corrections on a statement",
    description:
      "For the owner, in the order in which they were booked. Those of orders that were handed over in earlier months make up `earlier`.",
    auth: "PARTNER",
    query: pageQuery(z.int()).extend({ limit: Limit(200, 1_000) }),
    answers: { 200: z.array(LineView) },
    errors: [notTheOwner],
    csv: true,
  },
  async ({ user, partner, params, query, address }) => {
    await refuseStaff(partner.id, user.id);
    const { id } = await findStatement(params.id, partner.id, user.id);
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listStatementLines(sql, id, after ?? 0, limit),
      ({ id }) => id,
    );
    return ok(rows.map(presentLine), headers);
  },
);
