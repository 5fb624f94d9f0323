import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { log } from "../../../lib/process/log.js";
import { closeDatabase, sql } from "../../../sql/db.js";
import { type Client, outcome, startApi } from "../../support/api.js";
import * as cast from "../../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let owner: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  owner = (await cast.bakery(client)).owner.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const items = "/api/v1/menu/items";
const item = { name: "Багет", category: "Хлеб", price: 120 };
test("a refusal is a flat problem document that lists every invalid field", async () => {
  const refused = await owner.post(items, { name: "", price: "x" }, { headers: { "x-request-id": "test-7" } });
  expect(refused.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  expect(refused.body).toEqual({
    type: "/docs/errors#INVALID_INPUT",
    title: "Bad request",
    status: 400,
    detail: expect.stringMatching(/name: .*; category: .*; price: /),
    code: "VALIDATION_ERROR",
    reason: "INVALID_INPUT",
    requestId: "test-7",
    errors: [
      { path: "name", message: "must not be empty" },
      { path: "category", message: "is missing" },
      { path: "price", message: "must be a number" },
    ],
  });
});

test("an aborted statement answers 503 with the reason and Retry-After", async () => {
  await sql`
    create function give_up() returns trigger language plpgsql as $$
    begin
      raise exception 'given up' using errcode = substr(new.name, 9);
    end
    $$`;
  await sql`
    create trigger give_up before insert on menu_items for each row when (new.name like 'give up %')
    execute function give_up()`;
  for (const [code, reason] of [
    ["40P01", "Other requests are changing the same"],
    ["40001", "Other requests are changing the same"],
    ["57014", "took too long"],
    ["53200", "overloaded"],
    ["57P03", "not reachable"],
    ["25006", "not reachable"],
  ]) {
    const refused = await owner.post(items, { ...item, name: `give up ${code}` });
    expect([outcome(refused), refused.body["detail"]]).toEqual([
      "503 UNAVAILABLE",
      expect.stringContaining(reason ?? ""),
    ]);
    expect(refused.headers.get("retry-after")).toBe("5");
  }
});

test("private answers may not be cached, public ones may", async () => {
  const { id } = await cast.bakery(client);
  expect((await owner.get(items)).headers.get("cache-control")).toBe("private, no-store");
  const boxes = `/api/v1/boxes/by-partner/${id}`;
  const mine = await owner.get(boxes);
  expect([mine.headers.get("cache-control"), mine.headers.get("etag")]).toEqual(["private, no-store", null]);
  const anyones = await client.get(boxes);
  expect(anyones.headers.get("cache-control")).toMatch(/^public, /);
  expect(anyones.headers.get("vary")).toBe("Authorization");
  expect(anyones.headers.get("etag")).not.toBeNull();
});

test("a refusal does not repeat the rejected value", async () => {
  const refused = await owner.post(items, { ...item, name: 4_242_424_242, category: ["s3cret"] });
  expect(refused.text).not.toMatch(/4242424242|s3cret/);
});

test.each([
  ["delete", "/api/v1/ads/banners", "GET"],
  ["patch", "/api/v1/boxes/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f", "GET, PUT, DELETE"],
  ["get", "/api/v1/auth/otp/send/", "POST"],
  ["delete", "/api/v1/orders", "GET, POST"],
])("%s %s: 405 METHOD_NOT_ALLOWED, with the allowed methods", async (method, path, allow) => {
  const refused = await client.send(method, path);
  expect(outcome(refused)).toBe("405 METHOD_NOT_ALLOWED");
  expect((refused.headers.get("allow") ?? "").split(", ").sort()).toEqual(allow.split(", ").sort());
});

describe("request ids", () => {
  test.each(["a", "0b7c-1.x_Y", "x".repeat(128)])("%s is kept", async (id) => {
    const read = await client.get("/api/v1/nowhere", { headers: { "x-request-id": id } });
    expect([read.headers.get("x-request-id"), read.body["requestId"]]).toEqual([id, id]);
  });

  test.each(["", "x".repeat(129), "a b", "a,b", '"', "<script>"])("%j is replaced", async (id) => {
    const read = await client.get("/api/v1/nowhere", { headers: { "x-request-id": id } });
    expect(read.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(read.body["requestId"]).toBe(read.headers.get("x-request-id"));
  });
});

test.each([
  ["GET", "/"],
  ["GET", "/api"],
  ["GET", "/api/v1"],
  ["GET", "/api/v1/nowhere"],
  ["GET", "/api/v2/boxes"],
  ["GET", "/api/v1/boxes/by-partner"],
  ["POST", "/api/v1/partners"],
  ["TRACE", "/api/v1/menu/items", 405, "METHOD_NOT_ALLOWED"],
])("%s %s is not an endpoint", async (method, path, status = 404, code = "NOT_FOUND") => {
  const { port } = new URL(client.url);
  const response = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    httpRequest({ port, method, path }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode, body }), reject);
    })
      .once("error", reject)
      .end();
  });
  expect(response.status).toBe(status);
  expect(JSON.parse(response.body)).toMatchObject({ status, code });
});

test.each([
  ["orders/123", "No such id exists: it must be a UUID."],
  ["boxes/by-partner/1", "No such partnerId exists: it must be a UUID."],
])("GET /api/v1/%s: 404, as it says, since nothing has such an id", async (path, detail) => {
  const refused = await owner.get(`/api/v1/${path}`);
  expect([outcome(refused), refused.body["reason"], refused.body["detail"]]).toEqual([
    "404 NOT_FOUND",
    "NOT_FOUND",
    detail,
  ]);
});

describe("a body that cannot be read", () => {
  test.each([
    ["broken JSON", '{"name": "Баг', "application/json"],
    ["two documents", "{}{}", "application/json"],
    ["single quotes", "{'name': 1}", "application/json"],
    ["NaN", '{"price": NaN}', "application/json"],
    ["text", "name=x", "text/plain"],
    ["a form", "name=x", "application/x-www-form-urlencoded"],
    ["CSV", "name,price", "text/csv"],
    ["a multipart form", "--x--", "multipart/form-data; boundary=x"],
    ["JSON under a vendor media type", "{}", "application/vnd.api+json"],
    ["no content type at all", "{}", ""],
    ["a content type without a subtype", "{}", "json"],
    ["an unknown charset", "{}", "application/json; charset=klingon"],
  ])("%s: 400 BAD_REQUEST", async (_case, body, contentType) => {
    expect(outcome(await owner.post(items, body, { headers: { "content-type": contentType } }))).toBe(
      "400 BAD_REQUEST",
    );
  });

  test.each([
    ["an unknown encoding", Buffer.from("{}"), "klingon"],
    ["invalid gzip", Buffer.from("{}"), "gzip"],
    ["truncated gzip", gzipSync(JSON.stringify(item)).subarray(0, -9), "gzip"],
  ])("%s: 400 BAD_REQUEST", async (_case, body, encoding) => {
    expect(outcome(await owner.post(items, body, { headers: { "content-encoding": encoding } }))).toBe(
      "400 BAD_REQUEST",
    );
  });

  test.each(["null", "7", '"text"', "[]", "true"])("%s is not an object: 400 VALIDATION_ERROR", async (body) => {
    expect(outcome(await owner.post(items, body))).toBe("400 VALIDATION_ERROR");
  });

  test("no body: 400 VALIDATION_ERROR", async () => {
    expect(outcome(await owner.post(items))).toBe("400 VALIDATION_ERROR");
  });

  test("a caller without a token gets 401 before the body is checked", async () => {
    expect(outcome(await client.post(items, "{"))).toBe("401 UNAUTHORIZED");
    expect(outcome(await client.post(items, "x".repeat(1_100_000)))).toBe("401 UNAUTHORIZED");
  });

  test("the body of a caller who is refused is not parsed", async () => {
    const parsing = jest.spyOn(JSON, "parse");
    const isParsed = (mark: string) => parsing.mock.calls.some(([text]) => text.includes(mark));
    const customer = await cast.user(client);
    for (const [as, mark] of [
      [client, "without a token"],
      [client.as("a.b.c"), "with an invalid token"],
      [customer.client, "with another role"],
    ] as const) {
      expect([401, 403]).toContain((await as.post(items, { ...item, mark })).status);
      expect(isParsed(mark)).toBe(false);
    }
    expect((await owner.post(items, { ...item, mark: "of the owner" })).status).toBe(201);
    expect(isParsed("of the owner")).toBe(true);
    parsing.mockRestore();
  });

  test("nested deeper than 32 levels: 400 BAD_REQUEST", async () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const body = (levels: number) => JSON.stringify({ ...item, unknown: 0 }).replace(/0}$/, `${nested(levels)}}`);
    expect(outcome(await owner.post(items, body(31)))).toBe("201");
    expect(outcome(await owner.post(items, body(32)))).toBe("400 BAD_REQUEST");
  });
});

describe("the size of a body", () => {
  const padded = (bytes: number) => {
    const body = JSON.stringify({ ...item, unknown: "" });
    return body.replace('"unknown":""', `"unknown":"${"x".repeat(bytes - Buffer.byteLength(body))}"`);
  };

  test("1 MB is accepted, and one byte more is 413 PAYLOAD_TOO_LARGE", async () => {
    expect(outcome(await owner.post(items, padded(1_048_576)))).toBe("201");
    expect(outcome(await owner.post(items, padded(1_048_577)))).toBe("413 PAYLOAD_TOO_LARGE");
  });

  test("where anyone may call, 4 KB are accepted, and for a registration 32 KB", async () => {
    const wide = (fields: object, bytes: number) => {
      const body = JSON.stringify({ ...fields, unknown: "" });
      return body.replace(/""}$/, `"${"x".repeat(bytes - body.length)}"}`);
    };
    const logout = (bytes: number) => client.post("/api/v1/auth/logout", wide({ refreshToken: "x" }, bytes));
    expect(outcome(await logout(4_096))).toBe("400 INVALID_TOKEN");
    expect(outcome(await logout(4_097))).toBe("413 PAYLOAD_TOO_LARGE");
    const shop = { name: "Shop", cityId: "moscow", address: "Tverskaya 1", latitude: 55.7, longitude: 37.6 };
    const register = (body: string) => client.post("/api/v1/partners/register", body);
    expect(outcome(await register(wide(shop, 32_768)))).toBe("201");
    expect(outcome(await register(wide(shop, 32_769)))).toBe("413 PAYLOAD_TOO_LARGE");
  });

  test("the longest legal bodies are accepted, in the longest spelling", async () => {
    const escaped = (value: object) =>
      JSON.stringify(value).replace(/[^\0-\x7f]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const longest = {
      name: "ы".repeat(200),
      cityId: "c".repeat(64),
      address: "ы".repeat(500),
      latitude: -55.12345678901234,
      longitude: -137.1234567890123,
      description: "ы".repeat(2_000),
      email: `${"e".repeat(60)}@${"d".repeat(60)}.example`,
      phone: "+79991234567",
      timezone: "Europe/Moscow",
    };
    expect(outcome(await client.post("/api/v1/partners/register", escaped(longest)))).toBe("201");
    const token = { refreshToken: "ы".repeat(512) };
    expect(outcome(await client.post("/api/v1/auth/token/refresh", escaped(token)))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("a compressed body is measured after decompression", async () => {
    const headers = { "content-encoding": "gzip" };
    expect(outcome(await owner.post(items, gzipSync(padded(1_000)), { headers }))).toBe("201");
    expect(outcome(await owner.post(items, gzipSync(padded(20_000_000)), { headers }))).toBe("413 PAYLOAD_TOO_LARGE");
  });
});

test("a path with broken percent-encoding: 400 BAD_REQUEST", async () => {
  for (const id of ["%", "%E0%A4%A", "%zz", "%ff"]) {
    expect(outcome(await client.get(`/api/v1/boxes/${id}`))).toBe("400 BAD_REQUEST");
  }
});

describe("malformed HTTP", () => {
  const exchange = async (bytes: string) => {
    const socket = connect(Number(new URL(client.url).port), "127.0.0.1");
    socket.write(bytes);
    const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
    return { head, body };
  };

  test.each([
    ["random bytes", "\u0016\u0003\u0001 hello\r\n\r\n", 400],
    ["a header without a name", "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400],
    [
      "a length beside chunks",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["headers of 20 kB", `GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ["an address of 20 kB", `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ])("%s is refused with a problem document", async (_case, bytes, status) => {
    const { head, body } = await exchange(bytes);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toContain("Content-Type: application/problem+json");
    expect(JSON.parse(body)).toMatchObject({ status, code: "BAD_REQUEST", requestId: expect.any(String) });
  });
});

test("an internal error answers 500 INTERNAL and reveals nothing about the cause", async () => {
  await sql`alter table menu_categories rename to gone`;
  const failed = await owner.get("/api/v1/menu/categories");
  await sql`alter table gone rename to menu_categories`;
  expect(failed.body).toEqual({
    type: "/docs/errors#INTERNAL",
    title: "Internal error",
    status: 500,
    detail: expect.any(String),
    code: "INTERNAL",
    reason: "INTERNAL",
    requestId: failed.headers.get("x-request-id"),
  });
  expect(failed.text).not.toMatch(/menu_categories|relation|select|42P01|\.ts/);
});

test("an internal error is logged with its stack, and without the values in it", async () => {
  const logged = jest.spyOn(log, "error").mockReturnValue(undefined);
  const cause = Object.assign(new Error('no driver for "Anna"'), { headers: { authorization: "Bearer secret" } });
  // a webhook's handler begins with its log
  const failing = jest.spyOn(log, "child").mockImplementation(() => {
    throw cause;
  });
  expect((await client.post("/api/v1/pos/webhooks/generic", {})).status).toBe(500);
  failing.mockRestore();
  expect(logged).toHaveBeenCalledWith(
    expect.objectContaining({ error: expect.stringMatching(/^Error: no driver for …\n +at /) }),
    "request failed",
  );
  expect(JSON.stringify(logged.mock.calls)).not.toMatch(/Anna|secret/);
  logged.mockRestore();
});
