import { afterAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";
import { tasks } from "../../workers/upkeep.js";
import { runScript } from "../support/run-script.js";

afterAll(closeDatabase);

const upkeep = (args: string[], env: NodeJS.ProcessEnv = {}) => runScript("upkeep", args, env);

test("runs a task and reports the result", async () => {
  await sql`
    insert into staged_jobs (queue, payload, done_at)
    values ('push', '{}', now() - interval '2 days'), ('sms', '{}', now())`;
  const { code, output } = await upkeep(["purge-staged-jobs"], { LOG_LEVEL: "info" });
  expect(code).toBe(0);
  const [logged = "", report] = output.split("\n");
  expect(JSON.parse(logged)).toMatchObject({ task: "purge-staged-jobs", rows: 1, msg: "old rows purged" });
  expect(report).toBe("purge-staged-jobs is done.");
  expect(await sql`select queue from staged_jobs`).toEqual([{ queue: "sms" }]);
});

test("lists the tasks and their schedules", async () => {
  const { code, output } = await upkeep([]);
  expect(code).toBe(0);
  expect(output.match(/^ {2}\S+/gm)?.map((name) => name.trim())).toEqual(Object.keys(tasks));
  expect(output).toMatch(/^ {2}canary +every 30 s$/m);
  expect(output).toMatch(/^ {2}purge-staged-jobs +7 \* \* \* \*$/m);
});

test("fails in one line", async () => {
  const unknown = { code: 1, output: "There is no task constructor; npm run upkeep lists the tasks.\n" };
  expect(await upkeep(["constructor"])).toEqual(unknown);
  expect(await upkeep(["canary", "canary"])).toEqual({ code: 1, output: "Usage: npm run upkeep -- <task>\n" });
  const nowhere = await upkeep(["canary"], { DATABASE_URL: "postgres://user@127.0.0.1:1/nowhere" });
  expect(nowhere).toEqual({ code: 1, output: expect.stringMatching(/^[^\n]+\n$/) });
});
