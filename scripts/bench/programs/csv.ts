import { Readable } from "node:stream";
import { parse } from "csv-parse";
import { files, keysOf, newFileName } from "../../../lib/storage/file-store.js";
import { log } from "../../../lib/process/log.js";
import { readHeader } from "../../../lib/menu-csv/menu-csv.js";
import { menuImport } from "../../../queues/index.js";
import { sql, transaction } from "../../../sql/db.js";
import { insertMenuImport, updateMenuImportJob } from "../../../sql/queries/menu-imports.js";
import { stageJob } from "../../../sql/outbox.js";
import { importMenu } from "../../../workers/menu-import.js";
import { ImportPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Imports a menu: as the worker does, which validates, matches and counts the rows; or by parsing and inserting alone.

const header = "externalId,name,category,price,description,weightGrams,available\n";
const PIECE = 1_000;

/** A generated file, never whole in memory. */
function* menuOf(rows: number, price: number): Generator<Buffer> {
  yield Buffer.from(header);
  for (let from = 0; from < rows; from += PIECE) {
    const lines = Array.from({ length: Math.min(PIECE, rows - from) }, (_, index) => {
      const n = from + index;
      return `k-${n},Хлеб № ${n},Полка ${n % 20},${price + (n % 90)}.50,"Ржаной, свежий",${250 + (n % 9)},yes\n`;
    });
    yield Buffer.from(lines.join(""));
  }
}

/** A stored file and the partner it belongs to. */
interface Stored {
  partnerId: string;
  fileKey: string;
  size: number;
}

async function store(partnerId: string, rows: number, price: number): Promise<Stored> {
  const fileKey = keysOf(newFileName()).menu;
  await files.put(fileKey, Readable.from(menuOf(rows, price), { objectMode: false }), "text/csv");
  return { partnerId, fileKey, size: (await files.size(fileKey)) ?? 0 };
}

async function byWorker(stored: Stored): Promise<() => Promise<void>> {
  const importId = await transaction(async (tx) => {
    const id = await insertMenuImport(tx, { ...stored, ...readHeader(Buffer.from(header)) });
    await updateMenuImportJob(tx, id, await stageJob(tx, menuImport, { importId: id }));
    return id;
  });
  const { signal } = new AbortController();
  const done = () => Promise.resolve();
  const progress = () => undefined;
  return () => importMenu({ payload: { importId }, log, progress, requestId: undefined, attempt: 1, signal, done });
}

const BATCH = 5_000;

async function insertBare(partnerId: string, rows: readonly string[][]): Promise<void> {
  const column = (at: number) => rows.map((row) => row[at] ?? "");
  const categories = column(2);
  await sql`
    insert into menu_categories (partner_id, name)
    select ${partnerId}::uuid, name from unnest(${[...new Set(categories)]}::text[]) name
    on conflict (partner_id, lower(name)) do nothing`;
  await sql`
    insert into menu_items (
      partner_id, category_id, name, price_minor, external_id, description, weight_grams, available, source
    )
    select c.partner_id, c.id, r.name, r.price, r.external_id, r.description, r.weight, r.available, 'CSV'
    from unnest(
      ${column(0)}::text[], ${column(1)}::text[], ${categories}::text[],
      ${column(3).map((price) => Math.round(Number(price) * 100))}::bigint[], ${column(4)}::text[],
      ${column(5).map(Number)}::integer[], ${column(6).map((available) => available === "yes")}::boolean[]
    ) as r (external_id, name, category, price, description, weight, available)
    join menu_categories c on c.partner_id = ${partnerId}::uuid and lower(c.name) = lower(r.category)
    on conflict (menu_item_key(partner_id, external_id)) do update
    set category_id = excluded.category_id, name = excluded.name, price_minor = excluded.price_minor,
        description = excluded.description, weight_grams = excluded.weight_grams, available = excluded.available,
        source = excluded.source, archived_at = null, updated_at = now()`;
}

async function importBare({ partnerId, fileKey }: Stored): Promise<void> {
  const file = await files.read(fileKey);
  let rows: string[][] = [];
  for await (const row of file.pipe(parse({ from_line: 2 })) as AsyncIterable<string[]>) {
    if (rows.push(row) < BATCH) continue;
    await insertBare(partnerId, rows);
    rows = [];
  }
  if (rows.length > 0) await insertBare(partnerId, rows);
  await files.delete(fileKey);
}

async function newPartner(): Promise<string> {
  const [partner] = await sql<{ id: string }[]>`
    insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at)
    select 'menu-' || new_id(), 'Menu', id, '-', 0, 0, 'ACTIVE', now() from cities limit 1
    returning id`;
  if (!partner) throw new Error("there is no city");
  return partner.id;
}

answerParent(ImportPlan, async ({ how, menu, rows }) => {
  const partnerId = await newPartner();
  if (menu === "full") await importBare(await store(partnerId, rows, 100));
  const stored = await store(partnerId, rows, 200);
  const run = how === "worker" ? await byWorker(stored) : () => importBare(stored);
  await sql`vacuum analyze menu_items`;
  const start = performance.now();
  await run();
  const seconds = (performance.now() - start) / 1_000;
  const [imported] = await sql<{ count: number }[]>`
    select count(*) from menu_items where partner_id = ${partnerId}::uuid and price_minor >= 20000`;
  if (imported?.count !== rows) throw new Error(`${imported?.count} of ${rows} rows were imported`);
  return { perSecond: rows / seconds };
});
