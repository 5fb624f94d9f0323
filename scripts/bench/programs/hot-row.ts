import { randomBytes, randomUUID } from "node:crypto";
import postgres from "postgres";
import { HotRowPlan } from "../messages.js";
import { answerParent, perSecond } from "./answer.js";

// All clients order the same box: the statement alone, directly through postgres.js.

// postgres.js prints notices otherwise, such as that a job is due
const pool = postgres(process.env["DATABASE_URL"] ?? "", { max: 10, onnotice: () => undefined });
let turn = 0;

answerParent(HotRowPlan, async ({ clients, seconds, userIds, boxId, partnerId, totalMinor }) => {
  const order = async () => {
    const [row] = await pool<{ outcome: string }[]>`
      select place_order(
        ${userIds[(turn += 1) % userIds.length] ?? ""}::uuid,
        ${partnerId}::uuid,
        ${[boxId]}::uuid[],
        ${[1]}::integer[],
        ${totalMinor}::bigint,
        ${"Тверская улица, 1"}::text,
        ${null}::text,
        ${randomUUID()}::text,
        ${randomBytes(32)}::bytea,
        ${"000000"}::text,
        ${null}::text
      ) ->> 'outcome' as outcome`;
    if (row?.outcome !== "PLACED") throw new Error(`an order was refused: ${String(row?.outcome)}`);
  };
  return { perSecond: await perSecond(clients, seconds, order) };
});
