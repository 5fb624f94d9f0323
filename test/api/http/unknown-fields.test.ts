import { ServerResponse, IncomingMessage, validateHeaderValue } from "node:http";
import { Socket } from "node:net";
import { afterAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { z } from "zod";

process.env["NODE_ENV"] = "development";
process.env["CORS_ORIGINS"] = "https://app.example.com";

const { nameUnknownFields } = await import("../../../api/http/unknown-fields.js");
const { startApi } = await import("../../support/api.js");
const { user } = await import("../../support/cast.js");
const { closeDatabase } = await import("../../../sql/db.js");

const { client, stop } = await startApi();
const anna = await user(client);

afterAll(async () => {
  await stop();
  await closeDatabase();
});

test("a change names its unknown fields, with the known name that is nearest", async () => {
  const changed = await anna.client.put("/api/v1/users/me", { firstName: "Анна", last_name: "Ким", shoe: 38 });
  expect([changed.status, changed.headers.get("x-unknown-fields")]).toEqual([200, "last_name -> lastName, shoe"]);
  expect(changed.headers.get("access-control-expose-headers")?.split(",")).toContain("X-Unknown-Fields");
});

test("a refusal names them too, also where a field has several forms", async () => {
  const refused = await anna.client.post("/api/v1/orders", { items: [{ boxid: "x", qty: 1 }], partnerID: "y" });
  expect([refused.status, refused.headers.get("x-unknown-fields")]).toEqual([
    400,
    "items.0.boxid -> boxId, partnerID -> partnerId",
  ]);
});

test("a query names its unknown parameters too, before the fields of the body", async () => {
  const header = async (path: string) => (await anna.client.get(path)).headers.get("x-unknown-fields");
  expect(await header("/api/v1/orders?limt=5&statuss=READY&colour=red")).toBe(
    "query.limt -> limit, query.statuss -> status, query.colour",
  );
  // a refused one, and one where none is known
  expect(await header("/api/v1/orders?limit=none&Cursor=x")).toBe("query.Cursor -> cursor");
  expect(await header("/api/v1/users/me?verbose=1")).toBe("query.verbose");
  expect(await header("/api/v1/orders?limit=5")).toBeNull();
  const changed = await anna.client.put("/api/v1/users/me?dryRun=1", { firstName: "Анна", shoe: 38 });
  expect([changed.status, changed.headers.get("x-unknown-fields")]).toEqual([200, "query.dryRun, shoe"]);
});

test("without unknown fields there is no header, nor for a caller who is refused", async () => {
  expect((await anna.client.put("/api/v1/users/me", { firstName: "Анна" })).headers.has("x-unknown-fields")).toBe(
    false,
  );
  const refused = await client.put("/api/v1/users/me", { shoe: 38 });
  expect([refused.status, refused.headers.has("x-unknown-fields")]).toEqual([401, false]);
});

function headerOf(schema: z.ZodType, body: unknown): string | undefined {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  nameUnknownFields(response, schema, body);
  return response.getHeader("x-unknown-fields")?.toString();
}

const Line = z.object({ boxId: z.string(), qty: z.int() });
const Body = z.object({
  name: z.string(),
  lines: z
    .array(z.union([Line, z.object({ menuItemId: z.string(), qty: z.int() })]).transform(String))
    .transform(String)
    .nullable()
    .optional(),
  counts: z.record(z.string(), z.int()).default({}),
  anything: z.looseObject({ known: z.string() }),
});

test.each<[string, unknown, string | undefined]>([
  ["names that are known", { name: "", lines: [{ boxId: "", qty: 1 }, { menuItemId: "" }] }, undefined],
  ["a field within fields", { lines: [{ boxId: "" }, { qyt: 1 }] }, "lines.1.qyt -> qty"],
  ["another case and separators", { "N-A_ME": "" }, "N-A_ME -> name"],
  ["a name that is given too", { name: "", nam: "" }, "nam"],
  ["a name that is far from all", { colour: "" }, "colour"],
  ["objects that take any name", { counts: { a: 1 }, anything: { known: "", b: 1 } }, undefined],
  ["a value of another type", { name: { first: "" }, lines: "x" }, undefined],
  ["a list in place of an object", [{ nam: "" }], undefined],
  [
    "names that a header cannot have",
    { цена: 1, "a\r\nb, c": 1, "\ud800": 1 },
    "%D1%86%D0%B5%D0%BD%D0%B0, a%0D%0Ab%2C%20c, %EF%BF%BD",
  ],
  [
    "names of prototypes",
    JSON.parse('{"__proto__": 1, "constructor": 1, "toString": 1}'),
    "__proto__, constructor, toString",
  ],
  ["an endless name", { ["x".repeat(100)]: 1 }, "x".repeat(32)],
  [
    "many names",
    Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`f${n}`, n])),
    "f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, ...",
  ],
])("%s", (_case, body, header) => {
  expect(headerOf(Body, body)).toBe(header);
});

test("whatever the names, the header is short ASCII", () => {
  const name = fc.string({ unit: "binary", maxLength: 200, size: "max" });
  fc.assert(
    fc.property(fc.dictionary(name, fc.anything()), fc.array(fc.dictionary(name, fc.anything())), (body, lines) => {
      const header = headerOf(Body, { ...body, lines }) ?? "";
      expect(() => validateHeaderValue("x", header)).not.toThrow();
      expect(header).toMatch(/^[\x20-\x7e]{0,4000}$/);
    }),
  );
});
