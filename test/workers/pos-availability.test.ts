import { describe, expect, test } from "@jest/globals";
import type { PosChange } from "../../lib/pos/adapter.js";
import { sql, transaction } from "../../sql/db.js";
import { archiveAbsentItems } from "../../sql/queries/pos-menu.js";
import { lockPosCredentials } from "../../sql/queries/pos-syncs.js";
import { admin, bakery, openBakery, receive, drain, events, syncs, endsBefore } from "../support/pos-inbox.js";

describe("an availability event", () => {
  const availability = (partnerId = bakery.id) =>
    sql`select external_id as id, available from menu_items where partner_id = ${partnerId}::uuid order by external_id`;
  const items = (...entries: [string, boolean][]): PosChange => ({
    kind: "item.availability",
    items: entries.map(([externalId, available]) => ({ externalId, available })),
  });

  test("sets the items' availability, and the last entry for an item counts", async () => {
    const other = await openBakery();
    await receive([["a1", items(["roll", false], ["tea", false], ["tea", true])]]);
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

  test("requests one sync, however many there are, since events may be late", async () => {
    await receive([
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

  test("waits for a sync that is ending, and is then applied", async () => {
    await receive([["a1", items(["roll", false])]]);
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

  test("does not change an item that was created manually", async () => {
    await sql`update menu_items set source = 'MANUAL' where partner_id = ${bakery.id}::uuid and external_id = 'tea'`;
    await receive([["a1", items(["tea", false])]]);
    await drain();
    expect(await availability()).toMatchObject([{}, { id: "tea", available: true }]);
  });

  test("records how many of its items are not in the POS menu, for admins", async () => {
    await sql`update menu_items set source = 'MANUAL' where partner_id = ${bakery.id}::uuid and external_id = 'tea'`;
    await receive([
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
    await receive([["a3", items(["roll", true])]]);
    await drain();
    expect((await events()).at(-1)?.lastError).toMatch(/^1 of 1 items/);
  });

  test("of unknown items leads to one sync, however many there are", async () => {
    await receive([
      ["a1", items(["caviar", true])],
      ["a2", items(["caviar", false])],
      ["m1", { kind: "menu.updated" }],
    ]);
    await drain();
    expect((await events()).map(({ status }) => status)).toEqual(["PROCESSED", "PROCESSED", "PROCESSED"]);
    expect(await syncs()).toBe(1);
  });
});

test("a suspended partner's menu is not synced, and the event records that", async () => {
  await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
  await receive([["m1", { kind: "menu.updated" }]]);
  await drain();
  expect(await events()).toMatchObject([
    { status: "PROCESSED", lastError: "the partner is suspended or rejected, and its menu is not read" },
  ]);
  expect(await syncs()).toBe(0);
});
