import { expect, test } from "@jest/globals";
import { runScript } from "../support/run-script.js";

test("documents and SQL can be linted alone, and a path that does not exist is refused", async () => {
  expect(await runScript("lint", ["README.md", "sql/functions"])).toMatchObject({ code: 0 });
  expect(await runScript("lint", ["no-such-folder"])).toMatchObject({ code: 2 });
});
