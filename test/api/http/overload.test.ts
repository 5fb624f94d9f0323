import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { until } from "../../support/until.js";

process.env["OVERLOAD_MS"] = "900";
const { log } = await import("../../../lib/process/log.js");
const { closeDatabase, lookups, sql } = await import("../../../sql/db.js");
const { outcome, startApi } = await import("../../support/api.js");
const cast = await import("../../support/cast.js");

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

test("while statements wait for each other for too long, requests are refused, POS webhooks last, and probes are answered", async () => {
  const stopped = new AbortController();
  // each of the two connections always has two of these, so that each takes a second
  const keepBusy = async () => {
    while (!stopped.signal.aborted) await lookups`select pg_sleep(0.5)`;
  };
  const busy = Promise.all(Array.from({ length: 4 }, keepBusy));
  const read = () => api.client.get("/api/v1/cities");
  const refused = await until(async () => {
    const reply = await read();
    return reply.status === 503 ? reply : undefined;
  });
  expect(refused.body).toMatchObject({ code: "UNAVAILABLE", reason: "DATABASE_OVERLOADED", retryAfterSeconds: 5 });
  expect(refused.headers.get("retry-after")).toBe("5");
  const webhook = await api.client.post("/api/v1/pos/webhooks/generic", {});
  expect(webhook.status).toBe(401);
  for (const probe of ["/healthz", "/readyz"]) expect((await fetch(api.client.url + probe)).status).toBe(200);
  stopped.abort();
  await busy;
  expect((await read()).status).toBe(200);
});
