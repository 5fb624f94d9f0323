import { afterAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";
import { runScript } from "../support/run-script.js";

afterAll(closeDatabase);

const seed = (args: string[], env: NodeJS.ProcessEnv = {}) => runScript("seed", args, env);
const line = (text: RegExp) => ({ code: 1, output: expect.stringMatching(new RegExp(`^${text.source}[^\\n]*\\n$`)) });

test("fills only an empty database", async () => {
  expect(await seed(["--scale", "0.0001"])).toEqual({
    code: 0,
    output: "Seeded about 100 orders and the data around them.\n",
  });
  expect(await sql`select count(*)::integer as orders from orders`).toEqual([{ orders: 100 }]);
  expect(await seed([])).toEqual(line(/This database was seeded already/));
});

test("goes beside other data by a flag, and into a database once", async () => {
  expect(await seed(["--beside"])).toEqual(line(/This database was seeded already/));
  // from now on it is somebody's own data
  await sql`update users set service_id = replace(service_id, 'SEED-', 'OWN-'), phone = replace(phone, '+78', '+76')`;
  await sql`update partners set slug = replace(slug, 'seed-', 'own-')`;
  await sql`update promo_codes set code = replace(code, 'SEED-', 'OWN-')`;
  await sql`update loyalty_accounts set referral_code = replace(referral_code, 'SEED', 'OWN')`;
  await sql`update devices set address = replace(address, 'seed', 'own'), address_digest = sha256(address_digest)`;
  await sql`update refresh_tokens set digest = sha256(digest)`;
  await sql`update otp set phone = replace(phone, '+78', '+76')`;
  const count = async () => (await sql<{ n: number }[]>`select count(*)::integer as n from orders`)[0]?.n;
  expect(await count()).toBe(100);
  expect(await seed([])).toEqual(line(/There are orders in this database: .* --beside/));
  expect(await seed(["--scale", "0.0001", "--beside"])).toMatchObject({ code: 0 });
  expect(await count()).toBe(200);
});

test("refuses to run in production", async () => {
  const sms = { SMS_SENDER: "http", SMS_HTTP_URL: "https://sms.test" };
  const production = { NODE_ENV: "production", PUBLIC_URL: "https://api.test", METRICS_TOKEN: "a long secret", ...sms };
  expect(await seed([], production)).toEqual(line(/The seed makes up customers and orders/));
});

test.each([["--half"], ["--scale=11"]])("%s shows the usage", async (arg) => {
  expect(await seed([arg])).toEqual(line(/Usage: npm run seed -- /));
});
