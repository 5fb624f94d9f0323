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
  expect(await seed([])).toEqual(line(/There are orders in this database already/));
});

test("refuses to run in production", async () => {
  const sms = { SMS_SENDER: "http", SMS_HTTP_URL: "https://sms.test" };
  const production = { NODE_ENV: "production", PUBLIC_URL: "https://api.test", METRICS_TOKEN: "a long secret", ...sms };
  expect(await seed([], production)).toEqual(line(/The seed makes up customers and orders/));
});

test.each([["--help"], ["--scale=11"]])("%s shows the usage", async (arg) => {
  expect(await seed([arg])).toEqual(line(/Usage: npm run seed -- /));
});
