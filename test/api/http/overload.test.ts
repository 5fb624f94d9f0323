import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { log } from "../../../lib/process/log.js";
import { closeDatabase, sql } from "../../../sql/db.js";
import { outcome, startApi } from "../../support/api.js";
import * as cast from "../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  jest.restoreAllMocks();
  await api.stop();
  await closeDatabase();
});

test("refusals of an overloaded process are logged once a second, with their number", async () => {
  const { owner } = await cast.bakery(api.client);
  await sql`
    create function refuse() returns trigger language plpgsql as $$
    begin
      raise exception 'too many' using errcode = '53300';
    end
    $$`;
  await sql`create trigger refuse before insert on menu_items for each row execute function refuse()`;
  const add = async () =>
    outcome(await owner.client.post("/api/v1/menu/items", { name: "Багет", category: "Хлеб", price: 1 }));
  const error = jest.spyOn(log, "error");
  const clock = jest.spyOn(performance, "now");
  const start = performance.now();
  clock.mockReturnValue(start);
  for (let n = 0; n < 3; n += 1) expect(await add()).toBe("503 UNAVAILABLE");
  clock.mockReturnValue(start + 1_000);
  expect(await add()).toBe("503 UNAVAILABLE");
  clock.mockRestore();
  const message = "requests were refused: the database is overloaded";
  expect(error.mock.calls).toEqual([
    [{ error: "DatabaseError 53300: too many", requests: 1 }, message],
    [{ error: "DatabaseError 53300: too many", requests: 3 }, message],
  ]);
});
