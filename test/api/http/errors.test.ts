import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../sql/db.js";
import { startApi, type Client, type Reply } from "../../support/api.js";
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
const outcome = ({ status, body }: Reply) => `${status} ${typeof body["code"] === "string" ? body["code"] : ""}`.trim();

test("a refusal is a flat problem document that names every wrong field", async () => {
  const refused = await owner.post(items, { name: "", price: "x" }, { headers: { "x-request-id": "test-7" } });
  expect(refused.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  expect(refused.body).toEqual({
    type: "about:blank",
    title: "Bad request",
    status: 400,
    detail: expect.stringMatching(/name: .*; category: .*; price: /),
    code: "VALIDATION_ERROR",
    requestId: "test-7",
    errors: [
      { path: "name", message: "must not be empty" },
      { path: "category", message: "is missing" },
      { path: "price", message: "must be a number" },
    ],
  });
});

test("a statement that was given up says why, and that it may be tried again", async () => {
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
    ["53200", "not reachable"],
  ]) {
    const refused = await owner.post(items, { ...item, name: `give up ${code}` });
    expect([outcome(refused), refused.body["detail"]]).toEqual([
      "503 UNAVAILABLE",
      expect.stringContaining(reason ?? ""),
    ]);
    expect(refused.headers.get("retry-after")).toBe("5");
  }
});

test("what is answered to someone is kept by nobody, and what is public may be", async () => {
  const { id } = await cast.bakery(client);
  expect((await owner.get(items)).headers.get("cache-control")).toBe("private, no-store");
  const boxes = `/api/v1/boxes/by-partner/${id}`;
  const mine = await owner.get(boxes);
  expect([mine.headers.get("cache-control"), mine.headers.get("etag")]).toEqual(["private, no-store", null]);
  const anyones = await client.get(boxes);
  expect([anyones.headers.get("cache-control"), anyones.headers.get("vary")]).toEqual([null, "Authorization"]);
  expect(anyones.headers.get("etag")).not.toBeNull();
});

test("a refused value is not repeated to the caller", async () => {
  const refused = await owner.post(items, { ...item, name: 4_242_424_242, category: ["s3cret"] });
  expect(refused.text).not.toMatch(/4242424242|s3cret/);
});

test.each([
  ["delete", "/api/v1/ads/banners", "GET"],
  ["patch", "/api/v1/boxes/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f", "GET, PUT, DELETE"],
  ["get", "/api/v1/auth/otp/send/", "POST"],
  ["delete", "/api/v1/orders", "GET, POST"],
])("%s %s: 405 METHOD_NOT_ALLOWED, with the methods that are", async (method, path, allow) => {
  const refused = await client.send(method, path);
  expect(outcome(refused)).toBe("405 METHOD_NOT_ALLOWED");
  expect((refused.headers.get("allow") ?? "").split(", ").sort()).toEqual(allow.split(", ").sort());
});

describe("request ids", () => {
  test.each(["a", "0b7c-1.x_Y", "x".repeat(128)])("%s is taken over", async (id) => {
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
])("%s %s is no endpoint", async (method, path, status = 404, code = "NOT_FOUND") => {
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

test("a credential that is refused says which scheme is asked for", async () => {
  const refused = await client.get(items);
  expect([outcome(refused), refused.headers.get("www-authenticate")]).toEqual(["401 UNAUTHORIZED", "Bearer"]);
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
    ["JSON under a name of its own", "{}", "application/vnd.api+json"],
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
    ["gzip that is none", Buffer.from("{}"), "gzip"],
    ["gzip that is cut off", gzipSync(JSON.stringify(item)).subarray(0, -9), "gzip"],
  ])("%s: 400 BAD_REQUEST", async (_case, body, encoding) => {
    expect(outcome(await owner.post(items, body, { headers: { "content-encoding": encoding } }))).toBe(
      "400 BAD_REQUEST",
    );
  });

  test.each(["null", "7", '"text"', "[]", "true"])("%s is no object: 400 VALIDATION_ERROR", async (body) => {
    expect(outcome(await owner.post(items, body))).toBe("400 VALIDATION_ERROR");
  });

  test("no body at all: 400 VALIDATION_ERROR", async () => {
    expect(outcome(await owner.post(items))).toBe("400 VALIDATION_ERROR");
  });

  test("a caller without a token hears of the token, not of the body", async () => {
    expect(outcome(await client.post(items, "{"))).toBe("401 UNAUTHORIZED");
    expect(outcome(await client.post(items, "x".repeat(1_100_000)))).toBe("401 UNAUTHORIZED");
  });
});

describe("the size of a body", () => {
  const padded = (bytes: number) => {
    const body = JSON.stringify({ ...item, unknown: "" });
    return body.replace('"unknown":""', `"unknown":"${"x".repeat(bytes - Buffer.byteLength(body))}"`);
  };

  test("1 MB is accepted, one byte more is 413 PAYLOAD_TOO_LARGE", async () => {
    expect(outcome(await owner.post(items, padded(1_048_576)))).toBe("201");
    expect(outcome(await owner.post(items, padded(1_048_577)))).toBe("413 PAYLOAD_TOO_LARGE");
  });

  test("compression does not hide it", async () => {
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

describe("what is not even HTTP", () => {
  const exchange = async (bytes: string) => {
    const socket = connect(Number(new URL(client.url).port), "127.0.0.1");
    socket.write(bytes);
    const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
    return { head, body };
  };

  test.each([
    ["noise", "\u0016\u0003\u0001 hello\r\n\r\n", 400],
    ["a header without a name", "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400],
    [
      "a length beside chunks",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["headers of 20 kB", `GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ["an address of 20 kB", `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ])("%s is refused as a problem document", async (_case, bytes, status) => {
    const { head, body } = await exchange(bytes);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toContain("Content-Type: application/problem+json");
    expect(JSON.parse(body)).toMatchObject({ status, code: "BAD_REQUEST", requestId: expect.any(String) });
  });
});

test("a fault of ours: 500 INTERNAL, and not a word about it", async () => {
  await sql`alter table menu_categories rename to gone`;
  const failed = await owner.get("/api/v1/menu/categories");
  await sql`alter table gone rename to menu_categories`;
  expect(failed.body).toEqual({
    type: "about:blank",
    title: "Internal error",
    status: 500,
    detail: expect.any(String),
    code: "INTERNAL",
    requestId: failed.headers.get("x-request-id"),
  });
  expect(failed.text).not.toMatch(/menu_categories|relation|select|42P01|\.ts/);
});
