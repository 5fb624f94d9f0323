import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { declaredRefusals } from "../../../api/http/refusal.js";
import { closeDatabase } from "../../../sql/db.js";
import { startApi, type Client } from "../../support/api.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

test.each(["/docs", "/docs/"])("the reference at %s loads nothing from other hosts", async (path) => {
  const page = await fetch(client.url + path);
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(page.headers.get("content-security-policy")).toMatch(/default-src 'self'.*script-src 'self'/);
  const html = await page.text();
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = ""]) => new URL(address, page.url));
  expect(loaded.length).toBeGreaterThan(5);
  for (const address of loaded.filter(({ protocol }) => protocol !== "data:")) {
    expect(address.origin).toBe(client.url);
    expect((await fetch(address)).status).toBe(200);
  }
});

test("of the packages and folders that the reference is made of, only what it loads is served", async () => {
  for (const name of ["swagger-ui-bundle.js.map", "package.json", "..%2fdocs.ts", "index.html"])
    expect((await fetch(`${client.url}/docs/${name}`)).status).toBe(404);
});

describe("the service's own address", () => {
  test("leads a browser to the reference", async () => {
    const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const answer = await fetch(client.url, { headers: { accept }, redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/docs"]);
    expect(answer.headers.get("vary")).toContain("Accept");
  });

  test.each([undefined, "*/*", "application/json"])("is no endpoint for a program that accepts %s", async (accept) => {
    const answer = await client.get("/", accept === undefined ? {} : { headers: { accept } });
    expect([answer.status, answer.body["code"]]).toEqual([404, "NOT_FOUND"]);
  });
});

test("the page of errors has an entry for each reason in the document, with an example, and loads nothing", async () => {
  const page = await fetch(`${client.url}/docs/errors`);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const html = await page.text();
  const entries = [...html.matchAll(/<section id="([A-Z_]+)">/g)].map(([, reason]) => reason);
  expect(entries).toEqual(expect.arrayContaining(declaredRefusals().map(({ reason }) => reason)));
  expect(new Set(entries).size).toBe(entries.length);
  expect(html).toContain('<section id="NOT_ENOUGH">');
  expect(html).toContain("POST /api/v1/orders");
  expect(html).not.toMatch(/(?:src|href)="(?![#/]|data:)/);
});
