import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase } from "../../../../sql/db.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let bakery: cast.Bakery;
let boxId: string;
let anna: cast.Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  bakery = await cast.bakery(client);
  boxId = await cast.listBox(bakery);
});

beforeEach(async () => {
  anna = await cast.user(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const path = "/api/v1/users/me/favorites";
const add = (targetType: unknown, targetId: unknown, as = anna) => as.client.post(path, { targetType, targetId });
const list = async (as = anna) => (await as.client.get(path)).list;

describe("favourites", () => {
  test("are boxes and partners, newest first, separate for each user", async () => {
    const first = await add("box", boxId);
    expect(first.status).toBe(201);
    expect(first.body).toEqual({ id: expect.any(String), targetType: "BOX", targetId: boxId });
    const second = await add("Partner", bakery.id.toUpperCase());
    expect(second.body).toEqual({ id: expect.any(String), targetType: "PARTNER", targetId: bakery.id });
    expect(await list()).toEqual([second.body, first.body]);
    expect(await list(await cast.user(client))).toEqual([]);
  });

  test("are not duplicated when added again, also concurrently", async () => {
    const added = await add("BOX", boxId);
    const again = await Promise.all(Array.from({ length: 10 }, () => add("BOX", boxId)));
    for (const { status, body } of again) expect([status, body]).toEqual([200, added.body]);
    const boris = await cast.user(client);
    const firsts = await Promise.all(Array.from({ length: 10 }, () => add("PARTNER", bakery.id, boris)));
    expect(firsts.map(({ status }) => status).sort()).toEqual([...Array<number>(9).fill(200), 201]);
    expect(new Set(firsts.map(({ body }) => body["id"])).size).toBe(1);
    expect(await list(boris)).toHaveLength(1);
  });

  test("are removed by their owner only", async () => {
    const { body } = await add("BOX", boxId);
    const one = `${path}/${String(body["id"])}`;
    expect(outcome(await (await cast.user(client)).client.delete(one))).toBe("404 NOT_FOUND");
    expect(outcome(await anna.client.delete(one))).toBe("204");
    expect(outcome(await anna.client.delete(one))).toBe("404 NOT_FOUND");
    expect(await list()).toEqual([]);
  });

  test("are listed page by page", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift((await add("BOX", await cast.listBox(bakery))).string("id"));
    const first = await anna.client.get(`${path}?limit=3`);
    const next = /<(.+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    const second = await anna.client.get(next);
    expect([...first.list, ...second.list].map(({ id }) => id)).toEqual(ids);
    expect(second.headers.get("link")).toBeNull();
  });

  test("must be visible to customers: otherwise 404 NOT_FOUND", async () => {
    const hidden = await cast.listBox(bakery);
    await bakery.owner.client.post(`/api/v1/boxes/${hidden}/hide`);
    const deleted = await cast.listBox(bakery);
    await bakery.owner.client.delete(`/api/v1/boxes/${deleted}`);
    const newcomer = await cast.bakery(client, "PENDING_REVIEW");
    const closed = await cast.bakery(client);
    const offSale = await cast.listBox(closed);
    const admin = await cast.admin(client);
    await admin.client.put(`/api/v1/admin/partners/${closed.id}/suspend`);
    for (const reply of [
      await add("BOX", hidden),
      await add("BOX", deleted),
      await add("BOX", offSale),
      await add("BOX", bakery.id),
      await add("PARTNER", boxId),
      await add("PARTNER", newcomer.id),
      await add("PARTNER", randomUUID()),
    ]) {
      expect(outcome(reply)).toBe("404 NOT_FOUND");
    }
    expect(await list()).toEqual([]);
  });

  test.each([
    ["another kind of target", { targetType: "USER" }],
    ["no kind", { targetType: undefined }],
    ["no id", { targetId: undefined }],
    ["an invalid id", { targetId: "7" }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, fields) => {
    expect(outcome(await anna.client.post(path, { targetType: "BOX", targetId: boxId, ...fields }))).toBe(
      "400 VALIDATION_ERROR",
    );
  });
});
