import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { compiled } from "../support/compiled.js";
import { scratchFolder } from "../support/scratch.js";
import { startSmsGateway } from "../support/sms-gateway.js";
import { startEverything, type Started } from "../support/start.js";
import { freePort } from "../../scripts/free-port.js";

export const databaseUrl = process.env["DATABASE_URL"] ?? "";

/** Plays the demo's day; returns its output. */
async function playDay(DATA_DIR: string): Promise<string> {
  const child = spawn(process.execPath, [compiled("scripts/demo/main.ts")], {
    env: { PATH: process.env["PATH"], DATA_DIR },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  expect([child.exitCode, output]).toEqual([0, expect.stringContaining("pickup code")]);
  return output;
}

/** All personal data, from the tables that may hold it. */
async function personalData(): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ value: string }>(`
    select distinct value from (
      select substr(phone, 3) as value from users union all select first_name from users union all select last_name from users
      union all select email from users union all select substr(phone, 3) from partners union all select email from partners
      union all select substr(phone, 3) from otp
      union all select address from orders
    ) as known where value <> ''`);
  await client.end();
  return rows.map(({ value }) => value);
}

const secrets = [/eyJ[\w-]{10,}/, /refresh_?token/i, /bearer [\w.-]{8,}/i, /whsec_/, /pickup_?code/i];

/** Plays the day twice against a real SMS gateway, with everything logged, and reads the logs and the broker's jobs. */
export function aDayThatLeavesNoTrace(env: () => Record<string, string>, brokerContents: () => Promise<string>): void {
  let folder: string;
  let sms: Awaited<ReturnType<typeof startSmsGateway>>;
  let service: Started;
  let logs: string;
  let output: string;

  beforeAll(async () => {
    folder = await scratchFolder("demo");
    sms = await startSmsGateway();
    const port = await freePort();
    service = startEverything(folder, {
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: "trace",
      SMS_SENDER: "http",
      SMS_HTTP_URL: sms.url,
      ...env(),
    });
    const greeting = await service.greeted;
    output = (await playDay(folder)) + (await playDay(folder));
    service.process.kill("SIGINT");
    await service.ended;
    logs = service.stdout.slice(greeting.length) + service.stderr;
  });

  afterAll(async () => {
    service.process.kill("SIGKILL");
    await sms.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("the demo can be run twice and completes both times", () => {
    expect(output.match(/The day is over/g)).toHaveLength(2);
    expect(output.match(/still signed in from an earlier day/g)).toHaveLength(1);
    expect(output.match(/recorded 1 order, READY/g)).toHaveLength(2);
  });

  test("the service's messages show the clock times of the demo's day", () => {
    const hours = output.split("\n").flatMap((line) => line.slice(7).match(/\b\d\d:\d\d(:\d\d)?\b/g) ?? []);
    expect(new Set(hours)).toEqual(new Set(["18:30", "20:30"]));
    expect(output).toContain("expects you from 18:30");
  });

  test.each(["logs", "jobs"])("the %s hold no personal data and no secrets", async (where) => {
    const text = where === "logs" ? logs : await brokerContents();
    expect(text.length).toBeGreaterThan(1_000);
    const known = await personalData();
    expect(known.length).toBeGreaterThan(5);
    expect(known.filter((value) => text.includes(value))).toEqual([]);
    for (const secret of secrets) expect(text).not.toMatch(secret);
    const codes = [...output.matchAll(/pickup code (\d{6})/g)].map(([, code]) => code ?? "");
    expect(codes).toHaveLength(2);
    for (const code of codes) expect(text).not.toMatch(new RegExp(`\\b${code}\\b`));
  });
}
