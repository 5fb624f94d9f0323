import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase } from "../../../../sql/db.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let admin: cast.Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  admin = await cast.admin(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const list = async () => (await client.get("/api/v1/cities")).list;
const name = (id: string, body: object) => admin.client.put(`/api/v1/admin/cities/${id}`, body);
const omsk = { name: "Омск", timezone: "Asia/Omsk" };

test("a city is listed once it has an active partner or an admin has named it", async () => {
  const register = (cityId: string) =>
    client.post("/api/v1/partners/register", { ...cast.bakeryProfile, cityId, phone: cast.newPhone() });
  const tomsk = (await register("tomsk")).string("id");
  await register("nowhere");
  expect(await list()).toEqual([]);

  await admin.client.put(`/api/v1/admin/partners/${tomsk}/approve`);
  expect(await list()).toEqual([{ id: "tomsk", name: "tomsk", timezone: "Europe/Moscow" }]);
  const named = await name("omsk", omsk);
  expect([named.status, named.body]).toEqual([200, { id: "omsk", ...omsk }]);
  await name("tomsk", { name: "Томск", timezone: "Asia/Tomsk" });
  await name("tomsk", { name: "Томск", timezone: "Asia/Tomsk" });
  expect(await list()).toEqual([
    { id: "omsk", ...omsk },
    { id: "tomsk", name: "Томск", timezone: "Asia/Tomsk" },
  ]);
});

test("cities are listed page by page", async () => {
  for (const id of ["page-1", "page-2", "page-3"]) await name(id, omsk);
  const ids: unknown[] = [];
  let next = "/api/v1/cities?limit=2";
  while (next !== "") {
    const page = await client.get(next);
    ids.push(...page.list.map(({ id }) => id));
    next = /<(.+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1] ?? "";
  }
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(ids).toEqual(expect.arrayContaining(["page-1", "page-2", "page-3"]));
});

test("a partner without a time zone uses that of its city", async () => {
  const { owner } = await cast.bakery(client);
  await owner.client.put("/api/v1/partners/me", { cityId: "omsk-2" });
  await name("omsk-2", omsk);
  const zone = async () => (await owner.client.get("/api/v1/partners/me")).body["timezone"];
  expect(await zone()).toBe("Asia/Omsk");
  await owner.client.put("/api/v1/partners/me", { timezone: "Asia/Tomsk" });
  expect(await zone()).toBe("Asia/Tomsk");
});

test.each([
  ["no name", "omsk", { timezone: "Asia/Omsk" }, "400 VALIDATION_ERROR"],
  ["an unknown zone", "omsk", { name: "Омск", timezone: "Asia/Nowhere" }, "400 VALIDATION_ERROR"],
  ["an id with a space", "om%20sk", omsk, "404 NOT_FOUND"],
])("%s: refused", async (_case, id, body, expected) => {
  expect(outcome(await name(id, body))).toBe(expected);
});
