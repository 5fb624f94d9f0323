import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { newSecret, signed, startTill, type Till } from "../support/till.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const deployments = newSecret();

const cast = await import("../support/cast.js");
const { prepareService } = await import("../support/programs.js");
const { until } = await import("../support/until.js");
const { closeDatabase, sql } = await import("../../sql/db.js");

let till: Till;
let service: Awaited<ReturnType<typeof prepareService>>;
const database = new pg.Client({ connectionString: process.env["DATABASE_URL"] });

beforeAll(async () => {
  till = await startTill();
  await database.connect();
  service = await prepareService({
    ALLOW_PRIVATE_ADDRESSES: "1",
    LOG_LEVEL: "trace",
    POS_WEBHOOK_SECRETS: JSON.stringify({ generic: [deployments] }),
  });
  await service.start();
});

afterAll(async () => {
  await service.stop();
  await till.stop();
  await database.end();
  await closeDatabase();
});

/** Every row of every table, BullMQ's included, with the table's name. */
async function contents(): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  const rows: string[] = [];
  for (const { name } of tables.rows) {
    const found = await database.query<{ text: string }>(`select t::text as text from ${name} t`);
    rows.push(...found.rows.map(({ text }) => `${name} ${text}`));
  }
  return rows;
}

test("POS secrets are in no log, answer, row or job, and customers' data from a POS is in orders and events only", async () => {
  const { client } = service;
  const [admin, bakery] = [await cast.admin(client), await cast.bakery(client)];
  const [account, own, phone, address] = [`account-${randomUUID()}`, newSecret(), cast.newPhone(), "Тайная улица, 1"];
  const wrongToken = `former-${randomUUID()}`;
  const enter = (fields: Record<string, unknown>) => ({
    adapterName: "generic",
    credentialsJson: till.credentials(account, { webhookSecret: own, ...fields }),
  });
  const save = (fields: Record<string, unknown> = {}) =>
    admin.client.put("/api/v1/pos/credentials", { partnerId: bakery.id, ...enter(fields) });
  const sync = () => bakery.owner.client.post("/api/v1/menu/pos/sync");
  const send = (type: string, externalId: string, data: Record<string, unknown>, secret = own) => {
    const { body, headers } = signed({ type, externalId, partnerExternalId: account, data }, secret);
    return client.send("post", "/api/v1/pos/webhooks/generic", body, { headers });
  };
  const answers = [];

  // connection tests, refused and valid credentials, and an unreachable POS
  for (const fields of [{}, { token: wrongToken }, { baseUrl: "http://127.0.0.1:9" }, { accountId: 7 }])
    answers.push(await admin.client.post("/api/v1/pos/test-connection", enter(fields)));
  answers.push(await save({ accountId: 7 }), await save({ token: wrongToken }), await sync(), await save());
  till.fail(500);
  answers.push(await sync());
  till.fail(null);
  till.serve([{ externalId: "roll", name: "Roll", category: "Bread", price: 60 }, { externalId: "bad" }]);
  answers.push(await sync());
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 400, 200, 409, 200, 503, 200]);

  // orders that are created, parked and forged
  const order = { items: [{ externalId: "roll", qty: 1 }], totalAmount: 60, customerPhone: phone, address };
  answers.push(
    await send("order.created", "order-1", order),
    await send("order.created", "order-2", { ...order, totalAmount: 61 }),
    await send("order.created", "order-3", order, deployments),
    await send("menu.updated", "menu-1", {}),
  );
  expect(answers.slice(-4).map(({ status }) => status)).toEqual([200, 200, 401, 200]);
  await until(async () => {
    const rows = await sql<{ status: string }[]>`select status::text from pos_events order by id`;
    return rows.map(({ status }) => status).join() === "PROCESSED,PARKED,PROCESSED";
  });
  answers.push(await admin.client.get("/api/v1/admin/pos/events"));
  await until(async () => (await sql`select from pos_syncs where settled_at is null`).count === 0);

  const secrets = [
    till.token,
    wrongToken,
    own,
    own.slice("whsec_".length),
    deployments,
    deployments.slice("whsec_".length),
  ];
  const found = (texts: readonly string[], sought: readonly string[]) =>
    texts.filter((text) => sought.some((each) => text.includes(each)));
  const logged = [service.api, ...service.workers].flatMap(({ lines }) => lines.map((line) => JSON.stringify(line)));
  expect(logged.length).toBeGreaterThan(20);
  expect(found(logged, [...secrets, phone, phone.slice(1), address])).toEqual([]);
  expect(
    found(
      answers.map(({ text }) => text),
      [...secrets, phone, address],
    ),
  ).toEqual([]);
  const rows = await contents();
  expect(found(rows, secrets)).toEqual([]);
  const places = found(rows, [phone, address]).map((row) => row.split(" ", 1)[0]);
  expect([...new Set(places)].sort()).toEqual(["public.orders", "public.pos_events"]);
});
