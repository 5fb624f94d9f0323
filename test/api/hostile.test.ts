import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import pg from "pg";
import type { Auth } from "../../api/http/auth.js";
import { closeDatabase } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { outcome, type Client, type Reply } from "../support/api.js";
import { arbitraryOf } from "../support/arbitraries.js";
import * as cast from "../support/cast.js";
import { prepareService, type Service } from "../support/programs.js";
import { pathOf, requestTo, resolve, targets } from "../support/requests.js";
import { sized } from "../support/size.js";

const { TEST_HOSTILE_REQUESTS } = process.env;

/** Generated requests per endpoint; `npm run fuzz` sends more. */
const numRuns =
  TEST_HOSTILE_REQUESTS === undefined ? sized(15, 5) : Math.ceil(Number(TEST_HOSTILE_REQUESTS) / targets.length);

let service: Service;
let callers: Record<Auth, Client>;
let restore: () => Promise<void>;
const database = new pg.Client({ connectionString: process.env["DATABASE_URL"] });
/** Ids that exist, and one that does not. Filled before the first request is sent. */
const ids = ["01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f"];

beforeAll(async () => {
  await database.connect();
  service = await prepareService();
  await service.api.start();
  const { client } = service;
  const [customer, admin, bakery] = [await cast.user(client), await cast.admin(client), await cast.bakery(client)];
  const owner = bakery.owner.client;
  callers = {
    ANYONE: client,
    OPTIONAL_USER: customer.client,
    USER: customer.client,
    PARTNER: owner,
    ACTIVE_PARTNER: owner,
    ADMIN: admin.client,
    PARTNER_OR_ADMIN: admin.client,
    BANNER_READER: client,
    LOCATION_WRITER: admin.client,
    OBSERVER: admin.client,
    EVENT_READER: admin.client,
    WEBHOOK_WRITER: admin.client,
  };
  restore = async () => {
    await database.query("update users set deleted_at = null, is_admin = id = $1", [admin.id]);
    await database.query("update partners set owner_id = null where id <> $1 and owner_id = $2", [
      bakery.id,
      bakery.owner.id,
    ]);
    await database.query(
      "update partners set status = 'ACTIVE', owner_id = case when id = $1 then $2 else owner_id end",
      [bakery.id, bakery.owner.id],
    );
  };
  const itemId = await cast.addMenuItem(bakery, { price: 120 });
  const order = { items: [{ menuItemId: itemId, qty: 1 }], totalAmount: 120, partnerId: bakery.id };
  ids.push(
    itemId,
    bakery.id,
    await cast.listBox(bakery),
    (await customer.client.post("/api/v1/orders", order)).string("orderId"),
    (await cast.bakery(client, "PENDING_REVIEW")).id,
  );
  // a request for the next event finds one, and does not wait
  await database.query("select number_events(1000)");
});

afterAll(async () => {
  await service.stop();
  await database.end();
  await closeSignals();
  await closeDatabase();
});

/** The request was either carried out or refused as documented; the client itself validates the response. */
function assertCivil({ status, body, text }: Reply): void {
  const refused = status >= 400 && status < 500 && typeof body["code"] === "string";
  if (!refused && ![200, 201, 202, 204, 302, 304].includes(status)) throw new Error(`answered ${status}: ${text}`);
}

const withBody = targets.filter(({ body, takesRawBody }) => body !== null && !takesRawBody);

describe.each(targets)("$name", (target) => {
  // requests of others change shared data, and some delete accounts
  beforeAll(() => restore());

  test("every generated request is carried out or refused, and undocumented bodies are refused", async () => {
    await fc.assert(
      fc.asyncProperty(requestTo(target, ids), async ({ path, headers, body }) => {
        const reply = await callers[target.auth].send(target.method, path, body, { headers });
        assertCivil(reply);
        const isPlain = !("content-type" in headers) && !("content-encoding" in headers);
        if (reply.status < 300 && target.body && body !== undefined && isPlain) {
          const read: unknown = JSON.parse(body);
          expect([read, target.allows(read ?? {})]).toEqual([read, true]);
        }
      }),
      { numRuns },
    );
  });
});

describe.each(withBody)("the body of $name", (target) => {
  beforeAll(() => restore());

  const send = (body: unknown, headers: Record<string, string> = {}) =>
    callers[target.auth].send(target.method, pathOf(target, ids), body, { headers });

  test.each([
    ["broken JSON", '{"a": '],
    ["another kind of JSON", "{a: 1,}"],
    ["NaN", '{"a": NaN}'],
    ["a NUL byte", '{"a": "\u0000"}'],
    ["bytes that are not UTF-8", Buffer.from([0x7b, 0xff, 0xfe, 0x00])],
  ])("%s: 400 BAD_REQUEST", async (_case, body) => {
    expect(outcome(await send(body))).toBe("400 BAD_REQUEST");
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml"])(
    "%s: 400 BAD_REQUEST",
    async (contentType) => {
      expect(outcome(await send("{}", { "content-type": contentType }))).toBe("400 BAD_REQUEST");
    },
  );

  test.each([
    ["an array", "[]"],
    ["a number", "7"],
    ["text", '"{}"'],
    ["a list of 1 000", `[${Array(1_000).fill(0).join()}]`],
  ])("%s is not an object: 400", async (_case, body) => {
    const refused = await send(body);
    expect([refused.status, refused.body["errors"]]).toEqual([400, expect.anything()]);
  });

  const isOpen = ["ANYONE", "OPTIONAL_USER", "BANNER_READER"].includes(target.auth);

  test.each([
    ["nested 33 deep", "[".repeat(33) + "]".repeat(33), "400 BAD_REQUEST"],
    [
      "nested 100 000 deep",
      "[".repeat(100_000) + "]".repeat(100_000),
      isOpen ? "413 PAYLOAD_TOO_LARGE" : "400 BAD_REQUEST",
    ],
    [
      "a list of 300 000",
      `[${Array(300_000).fill(0).join()}]`,
      isOpen ? "413 PAYLOAD_TOO_LARGE" : `400 ${target.invalid}`,
    ],
  ])("%s is refused", async (_case, body, expected) => {
    expect(outcome(await send(body))).toBe(expected);
  });

  test("over 1 MB, compressed or not: 413 PAYLOAD_TOO_LARGE", async () => {
    const large = JSON.stringify({ a: "x".repeat(1_048_576) });
    expect(outcome(await send(large))).toBe("413 PAYLOAD_TOO_LARGE");
    expect(outcome(await send(gzipSync(large), { "content-encoding": "gzip" }))).toBe("413 PAYLOAD_TOO_LARGE");
  });

  test("no body is treated as an empty object", async () => {
    expect(outcome(await send(undefined))).toBe(outcome(await send({})));
    expect(outcome(await send(""))).toBe(outcome(await send({})));
  });
});

test("undeclared fields, parameters and headers are ignored and never stored", async () => {
  await restore();
  const mark = `smuggled-${randomUUID()}`;
  const smuggle = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(smuggle);
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([name, member]) => [name, smuggle(member)]);
    const strangers = ["__proto__", "constructor", "owner_id", "smuggled"].map((name) => [name, { [name]: mark }]);
    return Object.fromEntries([...members, ...strangers]);
  };
  let accepted = 0;
  for (const target of withBody) {
    const plain = arbitraryOf(target.body ?? {}, { resolve, ids, hostile: false });
    await fc.assert(
      fc.asyncProperty(plain, fc.nat(), async (body, n) => {
        const path = `${pathOf(target, [ids[n % ids.length]!])}?${mark}=${mark}&__proto__=${mark}`;
        const headers = { "x-smuggled": mark };
        const reply = await callers[target.auth].send(target.method, path, smuggle(body), { headers });
        assertCivil(reply);
        expect(reply.text).not.toContain(mark);
        if (reply.status < 300) accepted += 1;
      }),
      { numRuns: 10 },
    );
  }
  expect(accepted).toBeGreaterThan(20);
  const tables = await database.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  for (const { name } of tables.rows) {
    const found = await database.query(`select from ${name} t where t::text like $1`, [`%${mark}%`]);
    expect([name, found.rowCount]).toEqual([name, 0]);
  }
});

test("hundreds of headers and very long headers are carried out or refused", async () => {
  await restore();
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-${n}`, "1"]));
  const long = { "x-long": "x".repeat(15_000) };
  for (const target of targets) {
    for (const headers of [many, long]) {
      assertCivil(
        await callers[target.auth].send(target.method, pathOf(target, ids), target.body ? {} : undefined, { headers }),
      );
    }
  }
});

test("after all these requests the process has not restarted and has logged no error", async () => {
  expect((await service.client.get("/api/v1/nowhere")).status).toBe(404);
  expect(service.crashes).toEqual([]);
  expect(service.api.lines.filter(({ level }) => ["error", "fatal"].includes(level))).toEqual([]);
});
