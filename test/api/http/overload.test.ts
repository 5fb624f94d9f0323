import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { z } from "zod";

process.env["CORS_ORIGINS"] = "*";
const { endpoints } = await import("../../../api/app.js");
const { ok } = await import("../../../api/http/endpoint.js");
const { refusalsOf } = await import("../../../api/http/openapi.js");
const { followRequests } = await import("../../../api/http/overload.js");
const { overloaded } = await import("../../../api/http/refusals.js");
const { registry } = await import("../../../api/http/registry.js");
const { auth } = await import("../../../api/routes/accounts/login.js");
const { config } = await import("../../../lib/process/config.js");
const { log } = await import("../../../lib/process/log.js");
const { closeBroker } = await import("../../../queues/broker.js");
const { closeDatabase, sql } = await import("../../../sql/db.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { outcome, startApi } = await import("../../support/api.js");
const cast = await import("../../support/cast.js");
const { until } = await import("../../support/until.js");

let api: Awaited<ReturnType<typeof startApi>>;
let now = 0;

beforeAll(async () => {
  api = await startApi();
});

/** Stops the clock at `now`. */
function stopClock(): void {
  // whole milliseconds: differences of fractions are inexact
  now = Math.ceil(performance.now());
  jest.spyOn(performance, "now").mockImplementation(() => now);
}

afterEach(() => void jest.restoreAllMocks());

afterAll(async () => {
  await api.stop();
  await Promise.all([closeBroker(), closeSignals()]);
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
  stopClock();
  for (let n = 0; n < 3; n += 1) expect(await add()).toBe("503 UNAVAILABLE");
  now += 1_000;
  expect(await add()).toBe("503 UNAVAILABLE");
  const message = "requests were refused: too many came at once";
  expect(error.mock.calls).toEqual([
    [{ error: "DatabaseError 53300: too many", requests: 1 }, message],
    [{ error: "DatabaseError 53300: too many", requests: 3 }, message],
  ]);
});

/** So many requests in progress may be a queue. */
const QUEUE = 4 * config.DATABASE_POOL;
/** After so many that took long, most of those that ended lately did. */
const MOST = 30;
const LONG_MS = 200;

describe("of an endpoint", () => {
  beforeEach(stopClock);

  const follow = () => followRequests("GET", "/api/v1/nowhere");
  type Requests = ReturnType<typeof follow>;
  let callers = 0;
  const enter = (requests: Requests, count: number, caller?: string) =>
    Array.from({ length: count }, () => {
      expect(requests.refuses()).toBe(false);
      return requests.enter(caller ?? `user ${(callers += 1)}`);
    });
  const end = (leaves: (() => void)[], count = leaves.length) => {
    for (const leave of leaves.splice(0, count)) leave();
  };

  /** Requests in progress that are a queue. */
  function queue(requests: Requests) {
    const leaves = enter(requests, QUEUE + MOST);
    now += LONG_MS;
    end(leaves, MOST);
    return leaves;
  }

  test("a burst is taken, however large", () => {
    enter(follow(), 1_000);
  });

  test("further requests are refused while many are in progress and most of those that end take long", () => {
    const requests = follow();
    const leaves = queue(requests);
    expect(requests.refuses()).toBe(true);
    end(leaves, 1);
    leaves.push(...enter(requests, 1));
    expect(requests.refuses()).toBe(true);
  });

  test("as long as most are quick, none is refused", () => {
    const requests = follow();
    const slow = enter(requests, QUEUE + 90);
    now += LONG_MS;
    for (let n = 0; n < 90; n += 1) {
      end(slow, 1);
      end(enter(requests, 2));
    }
    enter(requests, 1);
  });

  test("that those are quick which are taken ends nothing, a second without a refusal does", () => {
    const requests = follow();
    const leaves = queue(requests);
    expect(requests.refuses()).toBe(true);
    for (let n = 0; n < 100; n += 1) {
      end(leaves, 1);
      leaves.unshift(...enter(requests, 1));
    }
    now += 999;
    expect(requests.refuses()).toBe(true);
    now += 1_000;
    enter(requests, 1);
  });

  test("what took long before a pause does not count", () => {
    const requests = follow();
    end(queue(requests));
    now += 1;
    enter(requests, 2 * QUEUE);
  });

  test("what one caller asks for at once is no queue of others", () => {
    const requests = follow();
    const leaves = enter(requests, 10 * QUEUE, "one");
    now += LONG_MS;
    end(leaves, 9 * QUEUE);
    enter(requests, QUEUE);
  });

  test("a request ends once", () => {
    const requests = follow();
    const leaves = queue(requests);
    const [first] = leaves;
    end(leaves, 1);
    first?.();
    enter(requests, 1);
    expect(requests.refuses()).toBe(true);
  });
});

describe("over HTTP", () => {
  const waiting: (() => void)[] = [];
  const wait = async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return ok({});
  };
  const declaration = { summary: "Wait", auth: "USER", answers: { 200: z.object({}) } } as const;
  auth.get("/busy", { ...declaration, name: "waitInQueue" }, wait);
  auth.get("/busy/:n", { ...declaration, name: "waitInAnother", params: z.object({ n: z.string() }) }, wait);
  auth.get("/patient", { ...declaration, name: "waitForOthers", waits: true }, wait);
  auth.get("/searching", { ...declaration, name: "waitForTurn" }, ({ searches }) => {
    searches(1);
    return wait();
  });

  const ask = async (path: string, headers: Record<string, string> = {}) => fetch(api.client.url + path, { headers });

  /** Lets many requests wait, after some that took long. */
  async function fill(path: string): Promise<Promise<Response>[]> {
    // ten of each count
    const users = await Promise.all(Array.from({ length: 10 }, () => cast.user(api.client)));
    stopClock();
    const asked = Array.from({ length: QUEUE + MOST }, (_, n) =>
      ask(path, { authorization: `Bearer ${users[n % users.length]?.client.token}` }),
    );
    await until(() => waiting.length === asked.length);
    now += LONG_MS;
    let ended = 0;
    const count = () => (ended += 1);
    for (const each of asked) each.then(count, count);
    for (const answer of waiting.splice(0, MOST)) answer();
    await until(() => ended === MOST);
    return asked;
  }

  async function finish(asked: readonly Promise<Response>[]): Promise<void> {
    for (const answer of waiting.splice(0)) answer();
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
  }

  test("a further request is refused before its caller is looked up, and those of other endpoints are answered", async () => {
    const asked = await fill("/api/v1/auth/busy");
    const error = jest.spyOn(log, "error");
    // no other test has logged within the last second
    now += 10_000;
    // through Express, for what browsers need
    for (const headers of [{}, { origin: "https://app.example.com" }]) {
      const answer = await ask("/api/v1/auth/busy?n=1", { ...headers, "x-request-id": "mine" });
      const told = ["retry-after", "x-request-id", "content-type", "x-content-type-options", "cache-control"].map(
        (name) => answer.headers.get(name),
      );
      expect(told).toEqual(["1", "mine", "application/problem+json; charset=utf-8", "nosniff", "no-store"]);
      expect(await answer.json()).toMatchObject({ status: 503, reason: "OVERLOADED", requestId: "mine" });
      expect(answer.headers.has("access-control-allow-origin")).toBe("origin" in headers);
    }
    expect(error.mock.calls).toEqual([
      [expect.objectContaining({ requests: 1 }), "requests were refused: too many came at once"],
    ]);
    const counted = await registry.getSingleMetricAsString("http_requests_shed_total");
    expect(counted).toContain('{method="GET",route="/api/v1/auth/busy"} 2');
    for (const path of ["/healthz", "/readyz", "/api/v1/cities"]) expect((await ask(path)).status).toBe(200);
    await finish(asked);
  });

  test("so is one whose address has a parameter", async () => {
    const asked = await fill("/api/v1/auth/busy/1");
    expect((await ask("/api/v1/auth/busy/2")).status).toBe(503);
    await finish(asked);
  });

  test.each(["patient", "searching"])(
    "requests that wait for others, or for their client's turn, are all taken: %s",
    async (path) => {
      const asked = await fill(`/api/v1/auth/${path}`);
      expect((await ask(`/api/v1/auth/${path}`)).status).toBe(401);
      await finish(asked);
    },
  );

  test("webhooks are never refused for it", () => {
    const never = endpoints.filter((each) => !refusalsOf(each).includes(overloaded)).map(({ name }) => name);
    expect(never).toContain("receivePosWebhook");
  });
});
