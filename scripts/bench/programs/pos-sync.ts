import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import postgres from "postgres";
import { encryptEnvelope } from "../../../lib/security/envelope.js";
import { log } from "../../../lib/process/log.js";
import { sql } from "../../../sql/db.js";
import { posCredentialsContext } from "../../../sql/queries/pos-credentials.js";
import { requestPosSync } from "../../../sql/queries/pos-syncs.js";
import { syncMenu } from "../../../workers/pos-sync.js";
import { PullPlan } from "../messages.js";
import { answerParent } from "./answer.js";

// Syncs a menu from a till in this process: as the worker does; or with minimal hand-written code, which validates nothing
// and archives nothing.

const PAGE = 1_000;

interface Item {
  externalId: string;
  name: string;
  category: string;
  price: number;
}

let pages: string[] = [];

const till = createServer((request, response) => {
  const cursor = Number(new URL(request.url ?? "/", "http://till").searchParams.get("cursor") ?? 0);
  response.writeHead(200, { "content-type": "application/json" }).end(pages[cursor] ?? '{"items":[]}');
}).listen(0, "127.0.0.1");
await once(till, "listening");
const address = till.address();
const baseUrl = `http://127.0.0.1:${typeof address === "object" ? (address?.port ?? 0) : 0}`;

function fillTill(count: number): void {
  const items = Array.from({ length: count }, (_, n) => ({
    externalId: `item-${n}`,
    name: `Item number ${n}`,
    category: `Category ${n % 30}`,
    price: 10 + (n % 1_000) / 4,
  }));
  pages = [];
  for (let start = 0; start < count; start += PAGE) {
    const next = start + PAGE < count ? { nextCursor: String(pages.length + 1) } : {};
    pages.push(JSON.stringify({ items: items.slice(start, start + PAGE), ...next }));
  }
}

const [partner] = await sql<{ id: string }[]>`select id from partners order by id desc limit 1`;
const partnerId = partner?.id ?? "";
const credentials = JSON.stringify({ accountId: randomUUID(), baseUrl, token: "bench-token" });
await sql`delete from pos_credentials where partner_id = ${partnerId}::uuid`;
await sql`
  insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
  values (
    ${partnerId}::uuid, 'generic', ${randomUUID()}, ${encryptEnvelope(credentials, posCredentialsContext(partnerId))},
    now() + interval '1 day'
  )`;

const pool = postgres(process.env["DATABASE_URL"] ?? "", { max: 10 });

async function pullBare(): Promise<void> {
  let cursor: string | undefined;
  do {
    const response = await fetch(`${baseUrl}/menu${cursor === undefined ? "" : `?cursor=${cursor}`}`);
    const page = (await response.json()) as { items: Item[]; nextCursor?: string };
    const categories = page.items.map(({ category }) => category);
    await pool`
      insert into menu_categories (partner_id, name)
      select distinct ${partnerId}::uuid, name from unnest(${categories}::text[]) as name
      on conflict do nothing`;
    await pool`
      insert into menu_items (partner_id, category_id, name, price_minor, external_id, source)
      select ${partnerId}::uuid, c.id, p.name, p.price_minor, p.external_id, 'POS'
      from unnest(
        ${page.items.map(({ externalId }) => externalId)}::text[],
        ${page.items.map(({ name }) => name)}::text[],
        ${categories}::text[],
        ${page.items.map(({ price }) => Math.round(price * 100))}::bigint[]
      ) as p (external_id, name, category, price_minor)
      join menu_categories c on c.partner_id = ${partnerId}::uuid and c.name = p.category
      on conflict (menu_item_key(partner_id, external_id)) do update
      set name = excluded.name, category_id = excluded.category_id, price_minor = excluded.price_minor`;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

async function pullAsWorker(): Promise<void> {
  const syncId = await requestPosSync(sql, partnerId, { byUser: false, requestId: null });
  if (syncId === undefined) throw new Error("the partner has no POS");
  await syncMenu({
    payload: { syncId },
    log,
    progress: () => undefined,
    requestId: undefined,
    attempt: 1,
    signal: new AbortController().signal,
    done: () => Promise.resolve(),
  });
  const [sync] = await sql<
    { synced: number }[]
  >`select items_synced as synced from pos_syncs where id = ${syncId}::uuid`;
  if (sync?.synced !== pages.length * PAGE) throw new Error(`only ${sync?.synced ?? 0} items were synced`);
}

answerParent(PullPlan, async ({ how, items, known }) => {
  fillTill(items);
  const pull = how === "service" ? pullAsWorker : pullBare;
  await sql`delete from menu_items where partner_id = ${partnerId}::uuid and source = 'POS'`;
  if (known) await pullAsWorker();
  await sql`vacuum analyze menu_items`;
  const start = performance.now();
  await pull();
  return { perSecond: (items * 1_000) / (performance.now() - start) };
});
