import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "@jest/globals";
import { compiled } from "../../support/compiled.js";
import { ended } from "../../support/processes.js";
import { until } from "../../support/until.js";

let child: ChildProcess | undefined;
let output = "";

async function start(kind: string): Promise<ChildProcess> {
  output = "";
  child = spawn(process.execPath, [compiled("test/support/lifecycle.ts"), kind], {
    env: { ...process.env, LOG_LEVEL: "info" },
    stdio: ["pipe", "pipe", "inherit", "ipc"],
  });
  child.stdout?.on("data", (text: Buffer) => (output += text.toString()));
  await once(child, "message");
  return child;
}

/** The end of the process, once all its output has been read. */
async function closed(process: ChildProcess) {
  await once(process, "close");
  return { code: process.exitCode, signal: process.signalCode };
}

const livesOnAfter = (event: string) => until(() => output.includes(`lives on after ${event}`));

afterEach(async () => {
  child?.kill("SIGKILL");
  if (child) await ended(child);
});

test.each(["SIGTERM", "SIGINT"] as const)("%s stops a process in order", async (signal) => {
  const process = await start("willing");
  process.kill(signal);
  expect(await closed(process)).toEqual({ code: 0, signal: null });
});

test("the same signal again ends it at once, but not the combination of Ctrl-C from a parent and the parent's end", async () => {
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

test("a process stops when its parent is gone", async () => {
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

test.each(["throws", "rejects"])("an unhandled error ends the process (%s)", async (kind) => {
  const process = await start(kind);
  process.stdin?.write("now");
  expect(await closed(process)).toEqual({ code: 1, signal: null });
  expect(output).toMatch(/"level":"fatal".*an unexpected error/);
});
