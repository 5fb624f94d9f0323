import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import type { Client } from "../../../support/api.js";
import type { Bakery, Character } from "../../../support/cast.js";
import { until } from "../../../support/until.js";

process.env["SYNC_WAIT_MS"] = "0";
process.env["OPEN_IMPORTS"] = "2";
process.env["MENU_ITEMS"] = "5";
process.env["REPEATED_ROWS"] = "3";

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { disconnect } = await import("../../../support/queue-worker.js");
const { task } = await import("../../../support/task.js");
const { sql } = await import("../../../../sql/db.js");
const { importMenu } = await import("../../../../workers/menu-import.js");

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await disconnect();
});

const path = "/api/v1/menu/import/csv";
const head = "name,category,price\n";
const send = (as: Client, file = `${head}Rye,Bread,1\n`) =>
  as.send("post", path, file, { headers: { "content-type": "text/csv" } });
const menusStored = async () =>
  (await readdir(join(process.env["STORAGE_DIR"] ?? "", "menus"), { recursive: true }).catch(() => [])).filter((name) =>
    name.endsWith(".csv"),
  ).length;

/** Sends a menu of which the last row follows after `meanwhile`; returns the status and the reason of a refusal. */
async function sendSlowly({ id, client }: Character, meanwhile: () => Promise<unknown>) {
  async function* rows() {
    yield head + "Rye,Bread,1\n".repeat(10_000);
    await until(async () => (await uploadsOf(id)) > 0);
    await meanwhile();
    yield "Baguette,Bread,2\n";
  }
  const response = await fetch(client.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${client.token ?? ""}`, "content-type": "text/csv" },
    body: Readable.toWeb(Readable.from(rows())),
    duplex: "half",
  });
  const { reason } = z.object({ reason: z.string().optional() }).parse(await response.json());
  return [response.status, reason];
}

const uploadsOf = async (userId: string) =>
  (await sql`select from files where user_id = ${userId}::uuid and status = 'UPLOADING'`).count;

async function run(reply: { string: (name: string) => string }, { owner }: Bakery) {
  const importId = reply.string("importId");
  await importMenu(task({ importId }));
  return (await owner.client.get(`${path}/${importId}`)).body;
}

describe("imports that are not finished", () => {
  test("are at most two for a partner, however many are sent at once", async () => {
    const [bakery, other] = [await cast.bakery(api.client), await cast.bakery(api.client)];
    const before = await menusStored();
    const replies = await Promise.all(Array.from({ length: 12 }, () => send(bakery.owner.client)));
    expect(replies.map(outcome).sort()).toEqual(["202", "202", ...Array<string>(10).fill("409 CONFLICT")]);
    expect(await menusStored()).toBe(before + 2);
    expect(await sql`select from files where user_id = ${bakery.owner.id}::uuid`).toHaveLength(0);
    expect((await send(other.owner.client)).status).toBe(202);
    // the other one waits for the first, which need not be the one that was answered first
    const accepted = replies.filter(({ status }) => status === 202);
    const [first] = accepted.sort((one, other) => (one.string("importId") < other.string("importId") ? -1 : 1));
    if (first) await run(first, bakery);
    expect((await send(bakery.owner.client)).status).toBe(202);
    expect(outcome(await send(bakery.owner.client))).toBe("409 CONFLICT");
  });

  test("do not count once their job has ended without settling them", async () => {
    const { owner } = await cast.bakery(api.client);
    for (let n = 0; n < 2; n += 1) expect((await send(owner.client)).status).toBe(202);
    await sql`update staged_jobs set dead_at = now() where queue = 'menu-import' and done_at is null`;
    expect((await send(owner.client)).status).toBe(202);
  });
});

describe("a menu that is still arriving", () => {
  const importsOf = ({ id }: Bakery) => sql`select from menu_imports where partner_id = ${id}::uuid`;

  test("is not imported once its sender has left the partner, or the partner is suspended", async () => {
    const admin = await cast.admin(api.client);
    const before = await menusStored();
    const [anna, boris, clara] = [
      await cast.user(api.client),
      await cast.user(api.client),
      await cast.user(api.client),
    ];
    const [bakery, other] = [await cast.bakery(api.client), await cast.bakery(api.client)];
    for (const employee of [anna, boris, clara]) await cast.join(bakery, employee);
    const dismiss = ({ id }: Character) => bakery.owner.client.delete(`/api/v1/partners/me/staff/${id}`);

    expect(await sendSlowly(anna, () => dismiss(anna))).toEqual([403, "PARTNERS_ONLY"]);
    const deleted = await sendSlowly(boris, () => boris.client.delete("/api/v1/users/me"));
    expect(deleted).toEqual([401, "SESSION_ENDED"]);
    const moved = await sendSlowly(clara, async () => {
      await dismiss(clara);
      await cast.join(other, clara);
    });
    expect(moved).toEqual([403, "PARTNERS_ONLY"]);
    const suspended = await sendSlowly(bakery.owner, () =>
      admin.client.put(`/api/v1/admin/partners/${bakery.id}/suspend`),
    );
    expect(suspended).toEqual([403, "MENU_PARTNER_BLOCKED"]);

    expect(await sendSlowly(other.owner, () => Promise.resolve())).toEqual([202, undefined]);
    expect([(await importsOf(bakery)).count, (await importsOf(other)).count]).toEqual([0, 1]);
    expect(await menusStored()).toBe(before + 1);
  });

  test("counts for its partner, whichever of its people sends it", async () => {
    const bakery = await cast.bakery(api.client);
    const [anna, boris] = [await cast.user(api.client), await cast.user(api.client)];
    for (const employee of [anna, boris]) await cast.join(bakery, employee);
    const third: string[] = [];
    await sendSlowly(anna, () => sendSlowly(boris, async () => third.push(outcome(await send(bakery.owner.client)))));
    expect(third).toEqual(["409 CONFLICT"]);
  });
});

test.each(["SUSPENDED", "REJECTED"] as const)("a partner that is %s imports nothing", async (status) => {
  const { owner, id } = await cast.bakery(api.client);
  await sql`update partners set status = ${status}::partner_status where id = ${id}::uuid`;
  expect(outcome(await send(owner.client))).toBe("403 FORBIDDEN");
  await sql`update partners set status = 'PENDING_REVIEW' where id = ${id}::uuid`;
  expect((await send(owner.client)).status).toBe(202);
});

describe("a menu", () => {
  const item = (name: string) => ({ name, category: "Bread", price: 1 });

  test("has at most so many items made by hand, also when they are added at once, beside those of a POS", async () => {
    const { owner, id } = await cast.bakery(api.client);
    const add = (name: string, externalId?: string) =>
      owner.client.post("/api/v1/menu/items", { ...item(name), externalId });
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => add(`Item ${n}`)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(replies.map(outcome).filter((one) => one !== "201")).toEqual(Array(7).fill("409 CONFLICT"));
    const [made] = replies.filter(({ status }) => status === 201);
    await owner.client.delete(`/api/v1/menu/items/${made?.string("id") ?? ""}`);
    expect(outcome(await add("in place of an archived one"))).toBe("409 CONFLICT");
    await sql`
      insert into menu_items (partner_id, category_id, name, price_minor, source, external_id)
      select partner_id, id, 'from the POS', 1, 'POS', 'pos-1' from menu_categories where partner_id = ${id}::uuid`;
    expect((await add("taken over from the POS", "pos-1")).status).toBe(201);
  });

  test("gets no more items from a file, but those that it has are updated", async () => {
    const bakery = await cast.bakery(api.client);
    const rows = (prices: number[]) => head + prices.map((price, n) => `Item ${n},Bread,${price}\n`).join("");
    const imported = await run(await send(bakery.owner.client, rows([1, 1, 1, 1, 1, 1, 1])), bakery);
    const reason = expect.stringContaining("at most 5 items");
    expect(imported).toMatchObject({
      status: "DONE",
      created: 5,
      updated: 0,
      failed: 2,
      errors: [
        { line: 7, column: null, message: reason },
        { line: 8, column: null, message: reason },
      ],
    });
    const again = await run(await send(bakery.owner.client, rows([2, 2, 2, 2, 2, 2])), bakery);
    expect(again).toMatchObject({ status: "DONE", created: 0, updated: 5, failed: 1 });
    expect(outcome(await bakery.owner.client.post("/api/v1/menu/items", item("by hand")))).toBe("409 CONFLICT");
  });

  test("gets only so many rows of one file that name an item of another row", async () => {
    const bakery = await cast.bakery(api.client);
    const file = head + Array.from({ length: 5 }, (_, n) => `Item,Bread,${n + 1}\n`).join("");
    const imported = await run(await send(bakery.owner.client, file), bakery);
    expect(imported).toMatchObject({
      status: "DONE",
      created: 1,
      updated: 2,
      failed: 2,
      errors: [
        { line: 5, message: expect.stringContaining("more than 3 rows") },
        { line: 6, message: expect.stringContaining("more than 3 rows") },
      ],
    });
  });
});
