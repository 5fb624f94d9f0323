import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { startSmsGateway } from "../support/sms-gateway.js";
import { freePort, startEverything, type Started } from "../support/start.js";

const demo = fileURLToPath(new URL("../../scripts/demo/main.ts", import.meta.url));
export const databaseUrl = process.env["DATABASE_URL"] ?? "";

/** Plays the demo's day; answers what it told. */
async function playDay(port: number): Promise<string> {
  const child = spawn(process.execPath, ["--import", "tsx", demo], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let told = "";
  child.stdout.on("data", (chunk: Buffer) => (told += chunk.toString()));
  await once(child, "close");
  expect([child.exitCode, told]).toEqual([0, expect.stringContaining("pickup code")]);
  return told;
}

/** What is known about people, read from the tables where it belongs. */
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

/** Plays the day twice, as with real gateways and everything logged, and reads what the service has left behind. */
export function aDayThatLeavesNoTrace(env: () => Record<string, string>, brokerContents: () => Promise<string>): void {
  let folder: string;
  let sms: Awaited<ReturnType<typeof startSmsGateway>>;
  let service: Started;
  let logs: string;
  let told: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "surplus-food-demo-"));
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
    told = (await playDay(port)) + (await playDay(port));
    service.process.kill("SIGINT");
    await service.ended;
    logs = service.stdout.slice(greeting.length) + service.stderr;
  });

  afterAll(async () => {
    service.process.kill("SIGKILL");
    await sms.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("the day can be played again, and reaches its end", () => {
    expect(told.match(/Everything that happened/g)).toHaveLength(2);
    expect(told.match(/made it 1 order, READY/g)).toHaveLength(2);
  });

  test("the service's messages speak of the hours of the day that is told", () => {
    const hours = told.split("\n").flatMap((line) => line.slice(7).match(/\b\d\d:\d\d(:\d\d)?\b/g) ?? []);
    expect(new Set(hours)).toEqual(new Set(["18:30", "20:30"]));
    expect(told).toContain("expects you from 18:30");
  });

  test.each(["logs", "jobs"])("no personal data and no secret is in the %s", async (where) => {
    const text = where === "logs" ? logs : await brokerContents();
    expect(text.length).toBeGreaterThan(1_000);
    const known = await personalData();
    expect(known.length).toBeGreaterThan(5);
    expect(known.filter((value) => text.includes(value))).toEqual([]);
    for (const secret of secrets) expect(text).not.toMatch(secret);
    const codes = [...told.matchAll(/pickup code (\d{6})/g)].map(([, code]) => code ?? "");
    expect(codes).toHaveLength(2);
    for (const code of codes) expect(text).not.toMatch(new RegExp(`\\b${code}\\b`));
  });
}
