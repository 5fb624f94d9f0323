import { afterAll, expect, test } from "@jest/globals";

Object.assign(process.env, {
  NODE_ENV: "production",
  PUBLIC_URL: "https://api.example.com",
  CORS_ORIGINS: "https://app.example.com",
  SMS_SENDER: "http",
  SMS_HTTP_URL: "https://sms.example.com",
  METRICS_TOKEN: "a long secret",
});

const { startApi } = await import("../../support/api.js");
const { user } = await import("../../support/cast.js");
const { closeDatabase } = await import("../../../sql/db.js");

const { client, stop } = await startApi();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

test("in production no response names unknown fields", async () => {
  const anna = await user(client);
  const changed = await anna.client.put("/api/v1/users/me?dryRun=1", { firstName: "Анна", last_name: "Ким" });
  expect([changed.status, changed.headers.has("x-unknown-fields")]).toEqual([200, false]);
  expect(changed.headers.get("access-control-expose-headers")?.split(",")).not.toContain("X-Unknown-Fields");
});
