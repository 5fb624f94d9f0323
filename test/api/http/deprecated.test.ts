import { afterAll, expect, test } from "@jest/globals";
import { z } from "zod";
import { ok } from "../../../api/http/endpoint.js";
import { openApiDocument } from "../../../api/http/openapi.js";
import { auth } from "../../../api/routes/accounts/login.js";
import { closeDatabase } from "../../../sql/db.js";
import { startApi } from "../../support/api.js";

const declaration = { summary: "Read a code", auth: "ANYONE", answers: { 200: z.object({}) } } as const;
const deprecated = { since: "2026-01-01", until: "2026-07-01" } as const;
auth.get("/old/:id", { ...declaration, name: "readOldCode", deprecated }, () => Promise.resolve(ok({})));
auth.get("/new/:id", { ...declaration, name: "readCode" }, () => Promise.resolve(ok({})));

const { client, stop } = await startApi();
const id = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";

afterAll(async () => {
  await stop();
  await closeDatabase();
});

test.each([
  [200, id],
  [404, "1"],
])("a deprecated operation says with status %i since when it is, and until when it is kept", async (status, value) => {
  const answer = await fetch(`${client.url}/api/v1/auth/old/${value}`);
  const told = [answer.status, answer.headers.get("deprecation"), answer.headers.get("sunset")];
  expect(told).toEqual([status, "@1767225600", "Wed, 01 Jul 2026 00:00:00 GMT"]);
  const other = await fetch(`${client.url}/api/v1/auth/new/${value}`);
  expect([other.status, other.headers.has("deprecation"), other.headers.has("sunset")]).toEqual([status, false, false]);
});

test("the document marks it, and declares its headers for all its answers", () => {
  const { paths, components } = openApiDocument(auth.endpoints);
  const [old, fresh] = ["old", "new"].map((name) => paths?.[`/api/v1/auth/${name}/{id}`]?.get);
  expect([old?.deprecated, fresh?.deprecated]).toEqual([true, undefined]);
  const declaring = (operation: typeof old) =>
    Object.values(operation?.responses ?? {}).map((response: unknown) => {
      const { $ref = "", headers } = Response.parse(response);
      const own = headers ?? Response.parse(components?.responses?.[$ref.split("/").at(-1) ?? ""]).headers;
      return ["Deprecation", "Sunset"].every((name) => name in (own ?? {}));
    });
  expect(new Set(declaring(old))).toEqual(new Set([true]));
  expect(new Set(declaring(fresh))).toEqual(new Set([false]));
});

const Response = z.object({ $ref: z.string().optional(), headers: z.record(z.string(), z.unknown()).optional() });
