import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

process.env["CORS_ORIGINS"] = "private,https://app.example.com";
const { startApi } = await import("../../support/api.js");
const { closeDatabase } = await import("../../../sql/db.js");
const { isPrivateOrigin } = await import("../../../api/http/cors.js");

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const near = [
  "http://localhost:5173",
  "http://shop.localhost",
  "http://127.0.0.1:8080",
  "http://[::1]:3000",
  "https://192.168.1.20:8443",
  "http://10.0.2.2",
  "http://172.16.0.9:1",
  "http://[fd00::1]",
  "http://169.254.7.7",
  "http://my-mac.local:5173",
  "capacitor://localhost",
];
const far = [
  "https://evil.example",
  "http://8.8.8.8",
  "http://172.32.0.1",
  "http://[2a00::1]",
  "http://localhost.evil.example",
  "http://127.0.0.1.evil.example",
  "http://notlocalhost",
  "http://mylocal",
  "null",
  "",
];

test.each([...near.map((origin) => [origin, true] as const), ...far.map((origin) => [origin, false] as const)])(
  "%s is on this machine or in a private network: %s",
  (origin, expected) => {
    expect(isPrivateOrigin(origin)).toBe(expected);
  },
);

describe("a page may read answers", () => {
  const allowed = async (origin: string, method: string) => {
    const headers = {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    };
    const answer = await fetch(`${api.client.url}/api/v1/orders`, { method, headers });
    expect(answer.headers.get("vary")).toContain("Origin");
    return answer.headers.get("access-control-allow-origin");
  };

  test.each(["GET", "OPTIONS"])("from the listed and the private origins only: %s", async (method) => {
    for (const origin of ["https://app.example.com", "http://localhost:5173", "http://192.168.1.20:5173"])
      expect(await allowed(origin, method)).toBe(origin);
    for (const origin of ["https://evil.example", "http://app.example.com"])
      expect(await allowed(origin, method)).toBeNull();
  });
});
