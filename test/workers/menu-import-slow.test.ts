import { Readable } from "node:stream";
import { afterAll, expect, test } from "@jest/globals";
import { task } from "../support/task.js";

process.env["DATABASE_TIMEOUT_MS"] = "3000";

const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { files, keysOf, newFileName } = await import("../../lib/storage/file-store.js");
const { readHeader } = await import("../../lib/menu-csv/menu-csv.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { insertMenuImport } = await import("../../sql/queries/menu-imports.js");
const { closeSignals } = await import("../../sql/signals.js");
const { importMenu } = await import("../../workers/menu-import.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

test("a batch that exceeds the statement timeout is retried in smaller ones", async () => {
  const { id: partnerId } = await cast.bakery(api.client);
  await sql`
    create function dawdle() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(0.5);
      return new;
    end
    $$`;
  await sql`create trigger dawdle before insert on menu_items for each row execute function dawdle()`;
  const rows = Array.from({ length: 10 }, (_, n) => `Item ${n},Bread,${n % 5 ? 1 : "x"}\n`);
  const bytes = Buffer.from(`name,category,price\n${rows.join("")}`);
  const fileKey = keysOf(newFileName()).menu;
  await files.put(fileKey, Readable.from([bytes]), "text/csv");
  const importId = await insertMenuImport(sql, { ...readHeader(bytes), partnerId, fileKey, size: bytes.length });
  await sql`update menu_imports set status = 'RUNNING' where id = ${importId}::uuid`;
  await expect(importMenu(task({ importId }))).rejects.toMatchObject({ code: "57014" });
  // three rows at a time
  await importMenu({ ...task({ importId }), attempt: 9 });
  expect(
    await sql`
      select status, rows_created as created, rows_failed as failed, position = size as "read"
      from menu_imports where id = ${importId}::uuid`,
  ).toEqual([{ status: "DONE", created: 8, failed: 2, read: true }]);
});
