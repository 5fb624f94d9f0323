import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { scratchFolder } from "../support/scratch.js";
import { startEverything, type Started } from "../support/start.js";
import { freePort } from "../../scripts/free-port.js";

let folder: string;
let port: string;
let service: Started;

beforeAll(async () => {
  folder = await scratchFolder("first-order");
  const DATABASE_URL = process.env["DATABASE_URL"] ?? "";
  port = String(await freePort());
  service = startEverything(folder, { PORT: port, DATABASE_URL });
  await service.greeted;
});

afterAll(async () => {
  service.process.kill("SIGINT");
  await service.ended;
  await rm(folder, { recursive: true, force: true });
});

/** The commands of the README under a heading. */
async function commandsUnder(heading: string): Promise<string> {
  const section = (await readFile("README.md", "utf8")).split(`\n## ${heading}\n`)[1] ?? "";
  return /```sh\n(.*?)```/s.exec(section)?.[1] ?? "";
}

/** Runs commands as in a newcomer's terminal, at the root of the checkout, with the service's port and data; returns what they print. */
const run = (commands: string) =>
  new Promise<string>((resolve) => {
    const env = { PATH: process.env["PATH"], HOME: folder, PORT: port, DATA_DIR: folder };
    execFile("bash", ["-c", commands], { env }, (_error, out, err) => resolve(out + err));
  });

test("the README's first order can be run again and again, and ends with a notification in English", async () => {
  const commands = await commandsUnder("A first order, by hand");
  for (let time = 0; time < 4; time += 1) {
    const output = await run(commands);
    expect(output).toMatch(/^\{"orderId":.*\}$/m);
    // which of them depends on the hour
    expect(output).toMatch(/\n(SENT|DEFERRED|DROPPED): (?!undefined)[^\n]+\n$/);
    expect(output).not.toMatch(/[а-я]|waiting/i);
  }
});
