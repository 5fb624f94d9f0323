import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { expect, test } from "@jest/globals";
import { environment } from "../../lib/process/environment.js";
import { readConfig } from "../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey } from "../../lib/process/keys.js";
import { readmePath, variablesExample, withVariablesTable } from "../../scripts/variables.js";

const required = {
  DATABASE_URL: "postgres://localhost/name",
  SIGNING_KEYS: newSigningKey(),
  CREDENTIALS_KEYS: newCredentialsKey(),
};

test(".env.example and the operators' README list every variable (`npm run variables` writes them)", async () => {
  expect(await readFile(".env.example", "utf8")).toBe(variablesExample());
  const readme = await readFile(readmePath, "utf8");
  expect(readme).toBe(withVariablesTable(readme));
});

test("the README's least for a deployment is complete, and nothing in it is superfluous", async () => {
  const [, block = ""] =
    /least a deployment needs[^`]*`[^`]*`[^`]*```sh\n([^`]*)```/.exec(await readFile(readmePath, "utf8")) ?? [];
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
