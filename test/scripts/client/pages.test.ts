import { afterAll, expect, test } from "@jest/globals";
import { listMenuItems, openSession, pages, rows, type Page } from "../../../scripts/client/src/index.js";
import { closeDatabase } from "../../../sql/db.js";
import { startApi } from "../../support/api.js";
import { addMenuItem, bakery } from "../../support/cast.js";
import { times } from "../../support/logins.js";

const api = await startApi();
const seller = await bakery(api.client);
const ids = new Set(await Promise.all(times(5, (n) => addMenuItem(seller, { name: `Багет ${n}` }))));
let requests = 0;

const session = openSession({
  baseUrl: api.client.url,
  fetch: (address, init) => {
    requests += 1;
    return fetch(address, init);
  },
});
const authorised = { ...session, headers: { authorization: `Bearer ${seller.owner.client.token ?? ""}` } };
const inTwos = (page: Page) => listMenuItems({ ...page, limit: 2 }, authorised);

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

test("rows has every row of all pages once", async () => {
  const found: string[] = [];
  for await (const { id } of rows(inTwos)) found.push(id);
  expect(found).toHaveLength(5);
  expect(new Set(found)).toEqual(ids);
});

test("pages has each page, and reads the next one only when it is asked for", async () => {
  requests = 0;
  const sizes: number[] = [];
  for await (const page of pages(inTwos)) {
    sizes.push(page.length);
    expect(requests).toBe(sizes.length);
  }
  expect(sizes).toEqual([2, 2, 1]);
});

test("a page that is refused ends the loop with an error", async () => {
  const read = (page: Page) => listMenuItems({ ...page, limit: 2 }, page.cursor === undefined ? authorised : session);
  const found: string[] = [];
  const reading = async () => {
    for await (const { id } of rows(read)) found.push(id);
  };
  await expect(reading()).rejects.toMatchObject({ status: 401, problem: { reason: "TOKEN_MISSING" } });
  expect(found).toHaveLength(2);
});
