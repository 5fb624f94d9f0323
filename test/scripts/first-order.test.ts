import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { scratchFolder } from "../support/scratch.js";
import { startEverything, freePort, type Started } from "../support/start.js";

let folder: string;
let service: Started;

beforeAll(async () => {
  folder = await scratchFolder("first-order");
  const DATABASE_URL = process.env["DATABASE_URL"] ?? "";
  service = startEverything(folder, { PORT: String(await freePort()), DATABASE_URL });
  await service.greeted;
});

afterAll(async () => {
  service.process.kill("SIGINT");
  await service.ended;
  await rm(folder, { recursive: true, force: true });
});

/** The commands of the README under a heading, for the service of this test. */
async function commandsUnder(heading: string): Promise<string> {
  const section = (await readFile("README.md", "utf8")).split(`\n## ${heading}\n`)[1] ?? "";
  const [, api = ""] = /API +(http\S+)/.exec(await service.greeted) ?? [];
  return (/```sh\n(.*?)```/s.exec(section)?.[1] ?? "").replace("http://localhost:3000/api/v1", api);
}

/** Runs commands as in a newcomer's terminal, at the root of the checkout; returns what they print. */
const run = (commands: string) =>
  new Promise<string>((resolve) => {
    const env = { PATH: process.env["PATH"], HOME: folder, DATA_DIR: folder };
    execFile("bash", ["-c", commands], { env }, (_error, out, err) => resolve(out + err));
  });

test("the README's first order can be run again and again, and ends with a notification in English", async () => {
  const commands = await commandsUnder("A first order, by hand");
  for (let time = 0; time < 4; time += 1) {
    const output = await run(commands);
    expect(output).toMatch(/"orderId":/);
    expect(output).toMatch(/\n(SENT|DEFERRED): (?!undefined)[^\n]+\n$/);
    expect(output).not.toMatch(/[а-я]|waiting/i);
  }
});
