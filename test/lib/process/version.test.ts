import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { version } from "../../../lib/process/version.js";

test("the version is that of package.json", async () => {
  const file = new URL("../../../package.json", import.meta.url);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ version });
});
