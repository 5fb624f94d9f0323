import "./environment.js";
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";

/**
 * `npm run fuzz -- [--requests 100000]`: sends that many generated requests, valid and hostile, over all endpoints of a service
 * that it starts with a database of its own.
 */

function fail(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

const { values } = parseArgs({ options: { requests: { type: "string", default: "100000" } } });
if (!/^[1-9]\d{0,8}$/.test(values.requests)) fail("--requests must be a positive integer");
if (process.env["NODE_ENV"] === "production")
  fail("Hostile requests would load this machine, so they are not sent in production.");

process.stdout.write(`Sending ${values.requests} generated requests; the result comes at the end, in some minutes.\n`);

const tests = spawn("npm", ["run", "test:unit", "--", "test/api/hostile"], {
  stdio: "inherit",
  env: { ...process.env, TEST_HOSTILE_REQUESTS: values.requests },
});
tests.once("exit", (code) => (process.exitCode = code ?? 1));
