import postgres from "postgres";
import { config } from "../../../lib/process/config.js";
import { contended, lookups, sql, type Db } from "../../../sql/db.js";
import { findBox } from "../../../sql/queries/boxes.js";
import { StatementsPlan } from "../messages.js";
import { answerParent, perSecond } from "./answer.js";

// Reads boxes by id through one of the handles, alone or beside statements that wait for one row or are slow.

const handles: Record<StatementsPlan["through"], Db> = {
  sql,
  lookups,
  contended,
  "postgres.js": postgres(config.DATABASE_URL, { max: 10, types: { bigint: { ...postgres.BigInt, parse: Number } } }),
};

const works = {
  "one row": (db: Db, boxId: string) => db`update boxes set updated_at = now() where id = ${boxId}::uuid`,
  // as slow as a report, or a search of a wide area
  slow: (db: Db) => db`select from pg_sleep(0.02)`,
};

answerParent(StatementsPlan, async ({ clients, seconds, boxIds, through, beside }) => {
  let turn = 0;
  const read = () => findBox(handles[through], boxIds[(turn += 1) % boxIds.length] ?? "");
  const other = beside && (() => works[beside.work](handles[beside.through], boxIds[0] ?? ""));
  const before = process.cpuUsage();
  const [rate = Number.NaN] = await Promise.all(
    [read, ...(other ? [other] : [])].map((work) => perSecond(clients, seconds, work)),
  );
  const { user, system } = process.cpuUsage(before);
  return { perSecond: rate, cpuMicros: (user + system) / rate / seconds };
});
