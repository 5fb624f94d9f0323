import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startApi, type Client, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { disconnect, startQueueWorker } from "../../../support/queue-worker.js";
import { menuImport } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { importMenu } from "../../../../workers/menu-import.js";

let api: Awaited<ReturnType<typeof startApi>>;
let worker: ReturnType<typeof startQueueWorker>;
let bakery: cast.Bakery;
let owner: Client;

beforeAll(async () => {
  api = await startApi();
  worker = startQueueWorker(menuImport, importMenu, 4);
});

beforeEach(async () => {
  bakery = await cast.bakery(api.client);
  owner = bakery.owner.client;
});

afterAll(async () => {
  await api.stop();
  await worker.stop();
  await disconnect();
});

const path = "/api/v1/menu/import/csv";
const send = (file: string | Uint8Array, contentType = "text/csv", as = owner) =>
  as.send("post", path, file, { headers: { "content-type": contentType } });
const result = async (reply: Reply) => (await owner.get(`${path}/${reply.string("importId")}`)).body;
const counts = ({ body: { created, updated, failed } }: Reply) => [created, updated, failed];
const items = async (query = "") => (await owner.get(`/api/v1/menu/items?limit=200${query}`)).list;

const head = "name,category,price";
const fullHead = "externalId,name,category,price,description,weightGrams,available";

describe("a row is for the item", () => {
  test("with its external id; the same file again changes nothing", async () => {
    const file = `${fullHead}\nb-1,Багет,Хлеб,120,Хрустящий,250,yes\nb-2,Багет,Хлеб,130,,,no\n`;
    expect(counts(await send(file))).toEqual([2, 0, 0]);
    const before = await items();
    expect(counts(await send(file))).toEqual([0, 2, 0]);
    expect(await items()).toEqual(before);
    expect(counts(await send("externalId,name,category,price\nb-2,Батон,Батоны,99\n"))).toEqual([0, 1, 0]);
    expect(await items()).toEqual([before[0], { ...before[1], name: "Батон", category: "Батоны", price: 99 }]);
  });

  test("with its category and name, ignoring case, when the row has no external id", async () => {
    await cast.addMenuItem(bakery, { name: "Багет", category: "Хлеб", externalId: "b-1", price: 1 });
    await cast.addMenuItem(bakery, { name: "Ёлка", category: "Хлеб", price: 2 });
    await cast.addMenuItem(bakery, { name: "Багет", category: "Сэндвичи", price: 3 });
    expect(counts(await send(`${head}\n БАГЕТ ,ХЛЕБ,10\nёлка,хлеб,20\nёлка,Сэндвичи,30\n`))).toEqual([1, 2, 0]);
    expect(await items()).toMatchObject([
      { name: "БАГЕТ", category: "Хлеб", price: 10, externalId: "b-1" },
      { name: "ёлка", category: "Хлеб", price: 20 },
      { name: "Багет", category: "Сэндвичи", price: 3 },
      { name: "ёлка", category: "Сэндвичи", price: 30 },
    ]);
  });

  test("of that name that has no external id yet, which it then has; never one with another", async () => {
    const adopted = await cast.addMenuItem(bakery, { name: "Багет", category: "Хлеб" });
    expect(counts(await send("externalId,name,category,price\nb-1,Багет,Хлеб,1\n"))).toEqual([0, 1, 0]);
    expect(await items()).toMatchObject([{ id: adopted, externalId: "b-1", price: 1 }]);
    expect(counts(await send("externalId,name,category,price\nb-2,Багет,Хлеб,2\n"))).toEqual([1, 0, 0]);
    expect(await items()).toMatchObject([
      { externalId: "b-1", price: 1 },
      { externalId: "b-2", price: 2 },
    ]);
  });

  test("in the archive, which it leaves; one that is not archived comes first", async () => {
    const old = await cast.addMenuItem(bakery, { price: 1 });
    await owner.delete(`/api/v1/menu/items/${old}`);
    expect(counts(await send(`${head}\nБагет,Хлеб,2\n`))).toEqual([0, 1, 0]);
    expect(await items()).toMatchObject([{ id: old, price: 2, archived: false }]);
    await owner.delete(`/api/v1/menu/items/${old}`);
    const current = await cast.addMenuItem(bakery, { price: 3 });
    expect(counts(await send(`${head}\nБагет,Хлеб,4\n`))).toEqual([0, 1, 0]);
    expect(await items("&archived=true")).toMatchObject([
      { id: old, price: 2, archived: true },
      { id: current, price: 4, archived: false },
    ]);
  });

  test("made by hand, which comes from CSV then", async () => {
    await cast.addMenuItem(bakery);
    await send(`${head}\nБагет,Хлеб,120\n`);
    expect(await items()).toMatchObject([{ source: "CSV" }]);
  });

  test("and what the file says nothing of stays", async () => {
    const kept = { description: "Хрустящий", weightGrams: 250, available: false };
    await cast.addMenuItem(bakery, kept);
    await send(`${head}\nБагет,Хлеб,1\n`);
    expect(await items()).toMatchObject([{ ...kept, price: 1 }]);
    await send(`${head},description,weightGrams,available\nБагет,Хлеб,1,,,\n`);
    expect(await items()).toMatchObject([{ description: null, weightGrams: null, available: false }]);
    await send(`${head},available\nБагет,Хлеб,1,YES\n`);
    expect(await items()).toMatchObject([{ available: true }]);
  });

  test("unless it is the POS's: then it is skipped, counted and named", async () => {
    const [byKey, byName, gone] = [
      await cast.addMenuItem(bakery, { name: "Багет", externalId: "p-1", price: 1 }),
      await cast.addMenuItem(bakery, { name: "Батон", externalId: "p-2", price: 2 }),
      await cast.addMenuItem(bakery, { name: "Рулет", externalId: "p-3", price: 3 }),
    ];
    await sql`update menu_items set source = 'POS' where partner_id = ${bakery.id}::uuid`;
    await owner.delete(`/api/v1/menu/items/${gone}`);
    const before = await items();
    const reply = await send(
      "externalId,name,category,price\np-1,Кекс,Кексы,10\n,Батон,Хлеб,20\n,Рулет,Хлеб,30\np-3,Торт,Торты,40\n,Пирог,Хлеб,x\n",
    );
    expect(counts(reply)).toEqual([1, 0, 4]);
    const owned = { column: null, message: expect.stringContaining("point-of-sale") };
    expect((await result(reply))["errors"]).toEqual([
      { line: 2, ...owned },
      { line: 3, ...owned },
      { line: 5, ...owned },
      { line: 6, column: "price", message: expect.any(String) },
    ]);
    expect(before).toMatchObject([{ id: byKey }, { id: byName }]);
    expect(await items()).toEqual([...before, expect.objectContaining({ name: "Рулет", price: 30, source: "CSV" })]);
    // nor is a category made for what is skipped
    expect((await owner.get("/api/v1/menu/categories")).list).toHaveLength(1);
  });

  test("that a row before it made: the later one wins, and counts as a change", async () => {
    const file = `externalId,${head}\nb-1,Багет,Хлеб,1\n,багет,ХЛЕБ,2\nb-1,Батон,Хлеб,3\n,Багет,Хлеб,4\n,Багет,Хлеб,5\n`;
    expect(counts(await send(file))).toEqual([2, 3, 0]);
    expect(await items()).toMatchObject([
      { name: "Батон", externalId: "b-1", price: 3 },
      { name: "Багет", externalId: null, price: 5 },
    ]);
  });
});
