import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { expect, test } from "@jest/globals";
import { environment } from "../../lib/process/environment.js";
import { readConfig } from "../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey } from "../../lib/process/keys.js";
import { pagePath, variablesExample, withVariablesTable } from "../../scripts/variables.js";

const required = {
  DATABASE_URL: "postgres://localhost/name",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
};

test(".env.example and the operators' pages list every variable (`npm run variables` writes them)", async () => {
  expect(await readFile(".env.example", "utf8")).toBe(variablesExample());
  const page = await readFile(pagePath, "utf8");
  expect(page).toBe(withVariablesTable(page));
});

test("the least configuration of a deployment is complete, and nothing in it is superfluous", async () => {
  const [, block = ""] =
    /```sh\n(NODE_ENV=production\n[^`]*)```/.exec(await readFile("scripts/ops/deploy.md", "utf8")) ?? [];
  const printed = { ...required, METRICS_TOKEN: "a long secret" };
  const least = Object.fromEntries(
    Object.entries({ ...parseEnv(block) }).map(([name, value]) => [name, value || Reflect.get(printed, name)]),
  );
  expect(readConfig(least).NODE_ENV).toBe("production");
  const needless = Object.keys(least).filter((name) => {
    try {
      return Boolean(readConfig({ ...least, [name]: "" }));
    } catch {
      return false;
    }
  });
  // these have a default, which is not what a deployment behind a proxy needs
  expect(needless).toEqual(["NODE_ENV", "TRUST_PROXY"]);
});

test(".env.example uncommented equals the defaults", () => {
  const given = parseEnv(variablesExample().replaceAll(/^#(?=[A-Z0-9_]+=)/gm, ""));
  expect(Object.keys(given).sort()).toEqual(Object.keys(environment.shape).sort());
  expect(JSON.stringify(readConfig({ ...given, ...required }))).toBe(JSON.stringify(readConfig(required)));
});
