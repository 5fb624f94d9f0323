import { files, keysOf, newFileName } from "../lib/storage/file-store.js";
import { languageOf } from "../lib/domain/notification-texts.js";
import { statementDocument } from "../lib/statements/statement-document.js";
import { fanOut } from "../queues/index.js";
import { sql, transaction } from "../sql/db.js";
import { stageJob } from "../sql/outbox.js";
import {
  findStatementToPrint,
  listManualLines,
  listStatementDays,
  nameStatementFile,
  updateStatementFileMade,
} from "../sql/queries/statements.js";
import type { Handler } from "./consume.js";

/** Payments and corrections in a document, which says so when there are more. */
const MOST_MANUAL_LINES = 200;

/** Every run writes the same document under the same name. The first that ends notifies the owner. */
export const writeStatement: Handler<{ statementId: string }> = async ({ payload: { statementId }, requestId }) => {
  const statement = await findStatementToPrint(sql, statementId);
  if (!statement) return;
  const name = await nameStatementFile(sql, statementId, newFileName());
  const manual = await listManualLines(sql, statementId, MOST_MANUAL_LINES + 1);
  const document = statementDocument({
    ...statement,
    language: languageOf(statement.locale),
    days: await listStatementDays(sql, statementId),
    manual: manual.slice(0, MOST_MANUAL_LINES),
    hasMoreManual: manual.length > MOST_MANUAL_LINES,
  });
  await files.put(keysOf(name).document, document, "application/pdf");
  await transaction(async (tx) => {
    if (!(await updateStatementFileMade(tx, statementId))) return;
    await stageJob(tx, fanOut, { event: "STATEMENT_READY", subjectId: statementId, after: null }, { requestId });
  });
};
