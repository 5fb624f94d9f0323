import postgres from "postgres";
import { config } from "../../../lib/process/config.js";
import { contended, lookups, sql, type Db } from "../../../sql/db.js";
import { findBox } from "../../../sql/queries/boxes.js";
import { StatementsPlan } from "../messages.js";
import { answerParent, perSecond } from "./answer.js";

// Reads boxes by their keys through one of the handles, alone or while everyone wants to change the same row.

const handles: Record<StatementsPlan["through"], Db> = {
  sql,
  lookups,
  contended,
  "postgres.js": postgres(config.DATABASE_URL, { max: 10, types: { bigint: { ...postgres.BigInt, parse: Number } } }),
};

answerParent(StatementsPlan, async ({ clients, seconds, boxIds, through, hotThrough }) => {
  let turn = 0;
  const read = () => findBox(handles[through], boxIds[(turn += 1) % boxIds.length] ?? "");
  const change = async () => {
    if (hotThrough === null) return;
    await handles[hotThrough]`update boxes set updated_at = now() where id = ${boxIds[0] ?? ""}::uuid`;
  };
  const before = process.cpuUsage();
  const [rate] = await Promise.all([
    perSecond(clients, seconds, read),
    ...(hotThrough === null ? [] : [perSecond(clients, seconds, change)]),
  ]);
  const { user, system } = process.cpuUsage(before);
  return { perSecond: rate, cpuMicros: (user + system) / rate / seconds };
});
