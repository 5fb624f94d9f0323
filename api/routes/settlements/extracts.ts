import { z } from "zod";
import { addDays, dayOf } from "../../../lib/domain/days.js";
import { config } from "../../../lib/process/config.js";
import { sql, transaction } from "../../../sql/db.js";
import { wasActive } from "../../../sql/queries/ledger.js";
import { makeExtract, type StatementRow } from "../../../sql/queries/statements.js";
import { created, found, ok } from "../../http/endpoint.js";
import { refusal } from "../../http/refusal.js";
import { invalidFields, notFound } from "../../http/refusals.js";
import { Day } from "../../http/schemas.js";
import { presentStatement, StatementView } from "./schemas.js";

/** Of an extract: its document has a line for each. */
const MOST_DAYS = 366;
/** That an owner may ask for. Each has a number, and is kept for ever. */
const OWN_EXTRACTS_A_DAY = 20;

const zone = config.DEFAULT_TIMEZONE;

export const extractsUsedUp = refusal(
  429,
  "RATE_LIMIT",
  "EXTRACTS_USED_UP",
  `Your partner has got ${OWN_EXTRACTS_A_DAY} extracts within 24 hours.`,
  "Ask for a longer range of days, or again tomorrow.",
);

/** The days of an extract, both included. */
export const ExtractDays = z
  .object({
    firstDay: Day.meta({ description: "in the deployment's time zone" }),
    lastDay: Day.meta({ description: "over, in the deployment's time zone" }),
  })
  .refine(({ firstDay, lastDay }) => firstDay <= lastDay, { path: ["lastDay"], message: "must not be before firstDay" })
  .refine(({ firstDay, lastDay }) => lastDay < addDays(firstDay, MOST_DAYS), {
    path: ["lastDay"],
    message: `must be at most ${MOST_DAYS} days from firstDay`,
  });

export const extractAnswers = { 200: StatementView, 201: StatementView };

export const ofExtracts =
  `Of at most ${MOST_DAYS} days that are over. Opens with the balance of all that happened before them, and changes nothing: monthly ` +
  "statements have the same orders, payments and corrections. Never changed. 200: the extract of these days that was made before, as nothing was " +
  "booked since that belongs on it.";

interface Asker {
  user: { id: string };
  requestId: string;
}

/** Makes an extract of a partner's days: 201, or 200 when it was made before. `find` reads it as its caller may see it. */
export async function answerExtract(
  partnerId: string,
  days: z.output<typeof ExtractDays>,
  { user, requestId }: Asker,
  by: "ADMIN" | "OWNER",
  find: (id: string) => Promise<StatementRow | undefined>,
) {
  if (days.lastDay >= dayOf(Date.now(), zone))
    throw invalidFields("VALIDATION_ERROR", [{ path: "lastDay", message: "must be over" }]);
  if (!(await wasActive(sql, partnerId))) throw notFound("This partner");
  // may wait for the ledger's lock; transactions have connections of their own
  const { id, isNew } = await transaction((tx) =>
    makeExtract(tx, {
      partnerId,
      ...days,
      zone,
      currency: config.CURRENCY,
      actorId: user.id,
      requestId,
      mostADay: by === "OWNER" ? OWN_EXTRACTS_A_DAY : null,
    }),
  );
  if (id === null) throw extractsUsedUp();
  const statement = presentStatement(found(await find(id), "This statement"));
  return isNew ? created(statement) : ok(statement);
}
