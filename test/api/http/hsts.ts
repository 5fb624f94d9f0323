import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "@jest/globals";

/** Tests what every kind of response tells browsers about https when clients reach the API at `publicUrl`. */
export async function testHsts(publicUrl: string, expected: string | null): Promise<void> {
  process.env["PUBLIC_URL"] = publicUrl;
  const { startApi } = await import("../../support/api.js");
  const { closeDatabase } = await import("../../../sql/db.js");
  let api: Awaited<ReturnType<typeof startApi>>;

  beforeAll(async () => {
    api = await startApi();
  });

  afterAll(async () => {
    await api.stop();
    await closeDatabase();
  });

  test.each(["/healthz", "/docs/", "/admin/queues/sign-in", "/api/v1/cities", "/nowhere"])(
    `at ${publicUrl}, %s has Strict-Transport-Security: ${String(expected)}`,
    async (path) => {
      const { headers } = await fetch(api.client.url + path);
      expect(headers.get("strict-transport-security")).toBe(expected);
    },
  );

  test(`at ${publicUrl}, the answer to what is no HTTP has the same`, async () => {
    const socket = connect(Number(new URL(api.client.url).port), "127.0.0.1");
    socket.write("hello\r\n\r\n");
    const lines = (await text(socket)).split("\r\n");
    expect(lines).toContain("X-Content-Type-Options: nosniff");
    const name = "Strict-Transport-Security: ";
    expect(lines.find((line) => line.startsWith(name))).toBe(expected === null ? undefined : name + expected);
  });
}
