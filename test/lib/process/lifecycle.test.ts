import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "@jest/globals";
import { ended } from "../../support/processes.js";
import { until } from "../../support/until.js";

const program = fileURLToPath(new URL("../../support/lifecycle.ts", import.meta.url));
let child: ChildProcess | undefined;
let output = "";

async function start(kind: string): Promise<ChildProcess> {
  output = "";
  child = spawn(process.execPath, ["--import", "tsx", program, kind], {
    env: { ...process.env, LOG_LEVEL: "info" },
    stdio: ["pipe", "pipe", "inherit", "ipc"],
  });
  child.stdout?.on("data", (text: Buffer) => (output += text.toString()));
  await once(child, "message");
  return child;
}

/** How it ended, once all that it had to say was read. */
async function closed(process: ChildProcess) {
  await once(process, "close");
  return { code: process.exitCode, signal: process.signalCode };
}

const livesOnAfter = (event: string) => until(() => output.includes(`lives on after ${event}`));

afterEach(async () => {
  child?.kill("SIGKILL");
  if (child) await ended(child);
});

test.each(["SIGTERM", "SIGINT"] as const)("%s ends a process in order", async (signal) => {
  const process = await start("willing");
  process.kill(signal);
  expect(await closed(process)).toEqual({ code: 0, signal: null });
});

test("the same signal again ends it at once; Ctrl-C that a parent passes on, and then its end, do not", async () => {
  const process = await start("stuck");
  process.kill("SIGINT");
  await livesOnAfter("SIGINT");
  process.kill("SIGTERM");
  await livesOnAfter("SIGTERM");
  process.disconnect();
  await livesOnAfter("disconnect");
  process.kill("SIGTERM");
  expect(await ended(process)).toEqual({ code: 1, signal: null });
  expect(output.match(/"msg":"stopping"/g)).toHaveLength(1);
});

test("a process whose parent is gone stops by itself", async () => {
  const process = await start("willing");
  process.disconnect();
  expect(await ended(process)).toEqual({ code: 0, signal: null });
});

test("a process that cannot stop in order ends with an error", async () => {
  const process = await start("clumsy");
  process.kill("SIGTERM");
  expect(await closed(process)).toEqual({ code: 1, signal: null });
  expect(output).toContain("something would not close");
});

test.each(["throws", "rejects"])("an error that nobody handles ends the process (%s)", async (kind) => {
  const process = await start(kind);
  process.stdin?.write("now");
  expect(await closed(process)).toEqual({ code: 1, signal: null });
  expect(output).toMatch(/"level":"fatal".*nobody expected this/);
});
