import { describe, expect, test } from "@jest/globals";
import * as cast from "../../../support/cast.js";
import { bakery, counts, fullHead, head, items, owner, result, send } from "../../../support/csv-import.js";
import { sql } from "../../../../sql/db.js";

describe("an imported row", () => {
  test("updates the item with its external id; the same file again changes nothing", async () => {
    const file = `${fullHead}\nb-1,Багет,Хлеб,120,Хрустящий,250,yes\nb-2,Багет,Хлеб,130,,,no\n`;
    expect(counts(await send(file))).toEqual([2, 0, 0]);
    const before = await items();
    expect(counts(await send(file))).toEqual([0, 2, 0]);
    expect(await items()).toEqual(before);
    expect(counts(await send("externalId,name,category,price\nb-2,Батон,Батоны,99\n"))).toEqual([0, 1, 0]);
    expect(await items()).toEqual([before[0], { ...before[1], name: "Батон", category: "Батоны", price: 99 }]);
  });

  test("without an external id updates the item with its category and name, ignoring case", async () => {
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

  test("gives its external id to the item of its name that has none, never to one that has another", async () => {
    const adopted = await cast.addMenuItem(bakery, { name: "Багет", category: "Хлеб" });
    expect(counts(await send("externalId,name,category,price\nb-1,Багет,Хлеб,1\n"))).toEqual([0, 1, 0]);
    expect(await items()).toMatchObject([{ id: adopted, externalId: "b-1", price: 1 }]);
    expect(counts(await send("externalId,name,category,price\nb-2,Багет,Хлеб,2\n"))).toEqual([1, 0, 0]);
    expect(await items()).toMatchObject([
      { externalId: "b-1", price: 1 },
      { externalId: "b-2", price: 2 },
    ]);
  });

  test("restores an archived item, unless a current one matches", async () => {
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

  test("changes the source of a manually created item to CSV", async () => {
    await cast.addMenuItem(bakery);
    await send(`${head}\nБагет,Хлеб,120\n`);
    expect(await items()).toMatchObject([{ source: "CSV" }]);
  });

  test("keeps the fields that the file does not have", async () => {
    const kept = { description: "Хрустящий", weightGrams: 250, available: false };
    await cast.addMenuItem(bakery, kept);
    await send(`${head}\nБагет,Хлеб,1\n`);
    expect(await items()).toMatchObject([{ ...kept, price: 1 }]);
    await send(`${head},description,weightGrams,available\nБагет,Хлеб,1,,,\n`);
    expect(await items()).toMatchObject([{ description: null, weightGrams: null, available: false }]);
    await send(`${head},available\nБагет,Хлеб,1,YES\n`);
    expect(await items()).toMatchObject([{ available: true }]);
  });

  test("is skipped, counted and reported when its item comes from the POS", async () => {
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
    // a skipped row creates no category either
    expect((await owner.get("/api/v1/menu/categories")).list).toHaveLength(1);
  });

  test("updates the item that an earlier row created, and counts as a change", async () => {
    const file = `externalId,${head}\nb-1,Багет,Хлеб,1\n,багет,ХЛЕБ,2\nb-1,Батон,Хлеб,3\n,Багет,Хлеб,4\n,Багет,Хлеб,5\n`;
    expect(counts(await send(file))).toEqual([2, 3, 0]);
    expect(await items()).toMatchObject([
      { name: "Батон", externalId: "b-1", price: 3 },
      { name: "Багет", externalId: null, price: 5 },
    ]);
  });
});
