import "./environment.js";
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";

/** `npm run fuzz -- [--requests 100000]`: sends that many generated requests, valid and hostile, over all endpoints. */

const { values } = parseArgs({ options: { requests: { type: "string", default: "100000" } } });
if (!/^[1-9]\d{0,8}$/.test(values.requests)) throw new Error("--requests must be a positive integer");

const tests = spawn("npm", ["run", "test:unit", "--", "test/api/hostile"], {
  stdio: "inherit",
  env: { ...process.env, TEST_HOSTILE_REQUESTS: values.requests },
});
tests.once("exit", (code) => (process.exitCode = code ?? 1));
