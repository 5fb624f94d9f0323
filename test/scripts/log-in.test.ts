import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { once } from "node:events";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";

process.env["OTP_FIXED_CODE"] = "000000";
const { startApi } = await import("../support/api.js");
const { compiled } = await import("../support/compiled.js");
const { newPhone } = await import("../support/cast.js");
const { scratchFolder } = await import("../support/scratch.js");
const { freePort } = await import("../../scripts/free-port.js");
const { until } = await import("../support/until.js");
const { findService } = await import("../../scripts/demo/address.js");
const { closeDatabase } = await import("../../sql/db.js");

let api: Awaited<ReturnType<typeof startApi>>;
let folder: string;

beforeAll(async () => {
  folder = await scratchFolder("log-in");
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the script; it finds the service by its address in DATA_DIR, as `npm start` writes it. */
function start(phone: string) {
  const child = spawn(process.execPath, [compiled("scripts/log-in.ts"), phone], {
    cwd: folder,
    env: { PATH: process.env["PATH"], DATA_DIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  return { child, said };
}

async function logIn(phone: string): Promise<string> {
  const { child, said } = start(phone);
  await once(child, "close");
  expect([child.exitCode, said.err]).toEqual([0, ""]);
  return said.out.trim();
}

test("tokens are kept, renewed and replaced, so that logging in again and again takes one code", async () => {
  await writeFile(join(folder, "database.env"), `LOCAL_URL='${api.client.url}'\n`);
  const phone = newPhone();
  const token = await logIn(phone);
  const me = async (held: string) => (await api.client.as(held).get("/api/v1/users/me")).status;
  expect(await me(token)).toBe(200);
  for (let run = 0; run < 5; run += 1) expect(await logIn(phone)).toBe(token);

  const file = join(folder, "logins.json");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const kept = await readFile(file, "utf8");
  await writeFile(file, kept.replace(token, "an.expired.token"));
  const renewed = await logIn(phone);
  expect(renewed).not.toBe(token);
  expect(await me(renewed)).toBe(200);
  expect(await logIn(phone)).toBe(renewed);

  // its session ends, and the file is spoilt
  await api.client.as(renewed).delete("/api/v1/users/me");
  const again = await logIn(phone);
  expect(await me(again)).toBe(200);
  await writeFile(file, "{");
  expect(await me(await logIn(phone))).toBe(200);
});

test("who has to wait for a code is told why and for how long", async () => {
  const phone = newPhone();
  for (let sent = 0; sent < 3; sent += 1) await api.client.post("/api/v1/auth/otp/send", { phone });
  const { child, said } = start(phone);
  await until(() => said.err.includes("waiting"));
  expect(said.err).toMatch(/gets no login code yet; waiting \d+ s: \w+/);
  child.kill("SIGKILL");
  await once(child, "close");
});

test("the service is found at PUBLIC_URL or PORT, else where npm start listened, and not where another program does", async () => {
  const other = createServer((_request, response) => response.end("hello")).listen(0);
  await once(other, "listening");
  const address = other.address();
  const [port, free] = [typeof address === "object" ? address?.port : 0, await freePort()];
  const { url } = api.client;
  expect(await findService({ PUBLIC_URL: `${url}/`, LOCAL_URL: "http://localhost:1" })).toBe(url);
  expect(await findService({ PORT: new URL(url).port })).toBe(`http://localhost:${new URL(url).port}`);
  expect(await findService({ PUBLIC_URL: `http://localhost:${port}`, PORT: String(free), LOCAL_URL: url })).toBe(url);
  other.close();
});
