import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Reply } from "../../support/api.js";
import type { Bakery, Character } from "../../support/cast.js";
import { describeWithNginx, startNginx } from "../../support/nginx.js";
import { until } from "../../support/until.js";

process.env["TRUST_PROXY"] = "1";

const { endpoints } = await import("../../../api/app.js");
const { isOpen } = await import("../../../api/http/auth.js");
const { closeDatabase } = await import("../../../sql/db.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { Client, outcome, startApi } = await import("../../support/api.js");
const cast = await import("../../support/cast.js");
const { order } = await import("../../support/orders.js");

/** How soon what is sold out shows so. */
const SOLD_OUT_MS = 5_000;
const STOCK = "public, max-age=0, s-maxage=2, stale-while-revalidate=2";

const api = await startApi();
const { client } = api;
let seller: Bakery;
let customer: Character;

beforeAll(async () => {
  [seller, customer] = [await cast.bakery(client), await cast.user(client)];
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

const header = ({ headers }: Reply, ...names: string[]) => names.map((name) => headers.get(name));

test("every public answer says for how long shared caches may keep it", () => {
  const silent = endpoints.filter(
    ({ method, auth, answers, shared }) => method === "get" && isOpen(auth) && 200 in answers && !shared,
  );
  // banners have a Cache-Control of their own, and streams are never kept
  expect(silent.map(({ name }) => name)).toEqual(["streamBoxes", "listBanners"]);
});

test.each([
  ["a box", async () => `/api/v1/boxes/${await cast.listBox(seller)}`, STOCK],
  ["a partner's boxes", () => `/api/v1/boxes/by-partner/${seller.id}`, STOCK],
  ["the boxes on offer", () => "/api/v1/boxes", STOCK],
  ["a partner", () => `/api/v1/partners/${seller.id}`, "public, max-age=0, s-maxage=10, stale-while-revalidate=20"],
  ["the cities", () => "/api/v1/cities", "public, max-age=0, s-maxage=60, stale-while-revalidate=240"],
])("%s: the answer to anyone may be shared, without what is the client's own", async (_what, at, shared) => {
  const path = await at();
  const answer = await client.get(path);
  const names = ["cache-control", "vary", "ratelimit", "set-cookie"];
  expect(header(answer, ...names)).toEqual([shared, "Authorization", null, null]);
  const etag = answer.headers.get("etag") ?? "";
  const unchanged = await client.get(path, { headers: { "if-none-match": etag } });
  expect([unchanged.status, ...header(unchanged, ...names, "etag")]).toEqual([
    304,
    shared,
    "Authorization",
    null,
    null,
    etag,
  ]);
  const mine = await seller.owner.client.get(path);
  expect(mine.headers.get("cache-control")).toMatch(/^private, no-(store|cache)$/);
  expect(header(mine, "vary", "ratelimit")).toEqual(["Authorization", expect.stringMatching(/remaining=/)]);
});

test("errors may not be kept", async () => {
  for (const path of [`/api/v1/boxes/${randomUUID()}`, "/api/v1/boxes?limit=0", "/api/v1/users/me", "/nowhere"])
    expect(header(await client.get(path), "cache-control")).toEqual(["no-store"]);
});

/** A cache that keeps whatever it is not told not to keep, and does not know what a token is. */
const eager = (example: string) =>
  example
    .replace(/proxy_cache_bypass .*\n|proxy_no_cache .*\n/g, "")
    .replace("proxy_cache_lock", "proxy_cache_valid any 1h; $&");

describe.each([
  ["nginx as in the example", (example: string) => example],
  ["an eager nginx", eager],
])("behind %s", (_name, change) => {
  describeWithNginx("a shared cache", () => {
    let nginx: Awaited<ReturnType<typeof startNginx>>;
    let anyone: InstanceType<typeof Client>;
    let owner: InstanceType<typeof Client>;

    beforeAll(async () => {
      nginx = await startNginx(client.url, change);
      anyone = new Client(nginx.url);
      owner = new Client(nginx.url, seller.owner.client.token);
    });
    afterAll(() => nginx.stop());

    const status = (reply: Reply) => reply.headers.get("x-cache-status");
    const fromCache = (reply: Reply) => ["HIT", "STALE", "UPDATING"].includes(status(reply) ?? "");
    /** Reads until the cache answers. */
    const readKept = (path: string, as = anyone) =>
      until(async () => {
        const reply = await as.get(path);
        return fromCache(reply) && reply;
      });

    test("answers anyone, and shows what is sold out", async () => {
      const boxId = await cast.listBox(seller, { quantity: 1, price: 100 });
      const path = `/api/v1/boxes/${boxId}`;
      const kept = await readKept(path);
      expect([kept.body["quantityAvailable"], ...header(kept, "cache-control", "ratelimit")]).toEqual([1, STOCK, null]);
      const etag = kept.headers.get("etag") ?? "";
      expect((await anyone.get(path, { headers: { "if-none-match": etag } })).status).toBe(304);
      expect((await order(customer, seller, [{ boxId, qty: 1 }], 100)).status).toBe(201);
      const sold = await until(async () => {
        const reply = await anyone.get(path);
        return reply.body["quantityAvailable"] === 0 && reply;
      });
      expect(sold.body["status"]).toBe("SOLD_OUT");
      expect((await readKept(path)).body["quantityAvailable"]).toBe(0);
    });

    test("shows what is sold out in time, though nobody has read it meanwhile", async () => {
      const path = `/api/v1/boxes/${await cast.listBox(seller)}`;
      expect((await anyone.get(path)).body["status"]).toBe("ACTIVE");
      await owner.patch(`${path}/quantity`, { quantityAvailable: 0 });
      const soldAt = performance.now();
      await until(() => performance.now() - soldAt >= SOLD_OUT_MS);
      expect((await anyone.get(path)).body["status"]).toBe("SOLD_OUT");
    });

    test("lets who sends a token read at once what they wrote, and keeps none of it", async () => {
      const id = await cast.listBox(seller);
      const path = `/api/v1/boxes/${id}`;
      for (const quantityAvailable of [5, 4, 3]) {
        await readKept(path);
        await owner.patch(`${path}/quantity`, { quantityAvailable });
        const read = await owner.get(path);
        expect([read.body["quantityAvailable"], fromCache(read)]).toEqual([quantityAvailable, false]);
      }
      await owner.post(`${path}/hide`);
      expect((await owner.get(path)).body["hidden"]).toBe(true);
      await until(async () => (await anyone.get(path)).status === 404);
      expect((await owner.get(path)).body["hidden"]).toBe(true);
      expect((await anyone.get(path)).status).toBe(404);
    });

    test("keeps no error", async () => {
      const id = await cast.listBox(seller);
      const path = `/api/v1/boxes/${id}`;
      await owner.post(`${path}/hide`);
      expect(outcome(await anyone.get(path))).toBe("404 NOT_FOUND");
      expect(outcome(await anyone.get(path))).toBe("404 NOT_FOUND");
      expect(outcome(await anyone.as("no token").get(path))).toBe("401 UNAUTHORIZED");
      await owner.post(`${path}/unhide`);
      expect((await anyone.get(path)).status).toBe(200);
      expect((await anyone.get("/api/v1/users/me")).status).toBe(401);
      expect((await owner.get("/api/v1/users/me")).status).toBe(200);
      expect((await anyone.get("/api/v1/users/me")).status).toBe(401);
    });
  });
});
