import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import { migrate, type MigrationFolders } from "../../sql/migrate.js";

const url = process.env["DATABASE_URL"] ?? "";
const sources = fileURLToPath(new URL("../../sql", import.meta.url));
const VERSION = 38;

let folder: string;
let folders: MigrationFolders;
let database: string;

async function ask<Row extends object>(address: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** A database as it was before the migration. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "surplus-food-pos-ids-"));
  folders = { migrations: join(folder, "migrations"), functions: join(folder, "functions") };
  // today's do not fit the schema of then
  await mkdir(folders.functions);
  await cp(join(sources, "migrations"), folders.migrations, { recursive: true });
  for (const file of await readdir(folders.migrations))
    if (Number.parseInt(file, 10) >= VERSION) await rm(join(folders.migrations, file));
  const name = `before_${process.pid}_${Date.now()}`;
  await ask(url, `create database ${name}`);
  database = Object.assign(new URL(url), { pathname: `/${name}` }).href;
  await migrate(database, folders);
});

afterEach(async () => {
  await ask(url, `drop database ${new URL(database).pathname.slice(1)}`);
  await rm(folder, { recursive: true });
});

test("events from before ids had their type, and phones their one form, get both; none gets in another's way", async () => {
  const partner = "018f3a5c-9b1e-7c64-8d2f-3a1b5c7d9e0f";
  const told = (eventId: string, change: Record<string, unknown>, provider = "generic") =>
    `insert into pos_events (partner_id, provider, account, event_id, change)
     values ('${partner}', '${provider}', 'account', '${eventId}', '${JSON.stringify(change)}');`;
  const order = (customerPhone: string | null) => ({ kind: "order.created", customerPhone });
  const status = { kind: "order.status", orderExternalId: "1" };
  await ask(
    database,
    [
      // the events' partner is nobody
      "alter table pos_events drop constraint pos_events_partner_id_fkey;",
      told("1", status),
      told("2", status),
      told("order.status:2", status),
      told("3", order("8 (982) 079-82-84")),
      told("order.status:4", order("call me")),
      told("order.created:5", order("+79820798284")),
      told("6", { kind: "menu.updated" }),
      told("item.availability:7", { kind: "item.availability", items: [] }),
      told("8", { kind: "menu.updated" }, "square"),
    ].join("\n"),
  );
  await migrate(database);
  expect(
    await ask(
      database,
      "select event_id as id, change ->> 'customerPhone' as phone, change -> 'items' as items from pos_events order by pos_events.id",
    ),
  ).toEqual([
    { id: "order.status:1", phone: null, items: null },
    { id: "2", phone: null, items: null },
    { id: "order.status:2", phone: null, items: null },
    { id: "order.created:3", phone: "+79820798284", items: null },
    { id: "order.created:order.status:4", phone: null, items: null },
    { id: "order.created:order.created:5", phone: "+79820798284", items: null },
    { id: "menu.updated:6", phone: null, items: null },
    { id: "item.availability:7", phone: null, items: [] },
    { id: "8", phone: null, items: null },
  ]);
});
