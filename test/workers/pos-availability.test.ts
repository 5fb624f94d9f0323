import { describe, expect, test } from "@jest/globals";
import type { PosChange } from "../../lib/pos/adapter.js";
import { sql, transaction } from "../../sql/db.js";
import { archiveAbsentItems, lockPosCredentials } from "../../sql/queries/pos-syncs.js";
import { admin, bakery, openBakery, tell, drain, events, syncs, endsBefore } from "../support/pos-inbox.js";

describe("what can be had", () => {
  const availability = (partnerId = bakery.id) =>
    sql`select external_id as id, available from menu_items where partner_id = ${partnerId}::uuid order by external_id`;
  const items = (...told: [string, boolean][]): PosChange => ({
    kind: "item.availability",
    items: told.map(([externalId, available]) => ({ externalId, available })),
  });

  test("is as the POS says, the last word counting", async () => {
    const other = await openBakery();
    await tell([["a1", items(["roll", false], ["tea", false], ["tea", true])]]);
    await drain();
    expect(await availability()).toEqual([
      { id: "roll", available: false },
      { id: "tea", available: true },
    ]);
    expect(await availability(other.id)).toEqual([
      { id: "roll", available: true },
      { id: "tea", available: true },
    ]);
  });

  test("is asked of the POS as well, once, however often it tells: what it tells may be late", async () => {
    await tell([
      ["a1", items(["roll", true])],
      ["a2", items(["roll", false])],
    ]);
    await drain();
    expect(await syncs()).toBe(1);
    expect(
      await sql`
        select s.start_at > s.created_at as later, j.run_at = s.start_at as "so is its job"
        from pos_syncs s join staged_jobs j on j.id = s.job_id where s.partner_id = ${bakery.id}::uuid`,
    ).toEqual([{ later: true, "so is its job": true }]);
  });

  test("is said while a sync ends: they take turns, and neither stands in the other's way", async () => {
    await tell([["a1", items(["roll", false])]]);
    let work: Promise<unknown> | undefined;
    await transaction(async (tx) => {
      await lockPosCredentials(tx, bakery.id);
      work = drain();
      expect(await endsBefore(work)).toBe(false);
      await archiveAbsentItems(tx, bakery.id, ["tea"]);
    });
    await work;
    expect(await events()).toMatchObject([{ status: "PROCESSED", attempts: 0 }]);
    expect(await availability()).toMatchObject([{ id: "roll", available: false }, {}]);
  });

  test("of an item that was made by hand is not the POS's to say", async () => {
    await sql`update menu_items set source = 'MANUAL' where partner_id = ${bakery.id}::uuid and external_id = 'tea'`;
    await tell([["a1", items(["tea", false])]]);
    await drain();
    expect(await availability()).toMatchObject([{}, { id: "tea", available: true }]);
  });

  test("of items that the menu does not have from the POS is said on the event, for admins", async () => {
    await sql`update menu_items set source = 'MANUAL' where partner_id = ${bakery.id}::uuid and external_id = 'tea'`;
    await tell([
      ["a1", items(["roll", false])],
      ["a2", items(["roll", false], ["caviar", true], ["tea", false])],
    ]);
    await drain();
    expect(await events()).toMatchObject([
      { status: "PROCESSED", lastError: null },
      {
        status: "PROCESSED",
        lastError: "2 of 3 items are not in the menu from the POS",
      },
    ]);
    const { list } = await admin.client.get("/api/v1/admin/pos/events?status=PROCESSED&limit=1");
    expect(list).toMatchObject([{ eventId: "a2", reason: expect.stringMatching(/^2 of 3 items/) }]);
    await sql`update menu_items set archived_at = now() where partner_id = ${bakery.id}::uuid`;
    await tell([["a3", items(["roll", true])]]);
    await drain();
    expect((await events()).at(-1)?.lastError).toMatch(/^1 of 1 items/);
  });

  test("of an item that the menu does not have leads to one sync, however often it is told", async () => {
    await tell([
      ["a1", items(["caviar", true])],
      ["a2", items(["caviar", false])],
      ["m1", { kind: "menu.updated" }],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED", "PROCESSED"]);
    expect(await syncs()).toBe(1);
  });
});

test("the menu of a partner that is suspended is not read again, which is said on the event", async () => {
  await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
  await tell([["m1", { kind: "menu.updated" }]]);
  await drain();
  expect(await events()).toMatchObject([
    { status: "PROCESSED", lastError: "the partner is suspended or rejected, and its menu is not read" },
  ]);
  expect(await syncs()).toBe(0);
});
