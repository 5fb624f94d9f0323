import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../sql/migrate.js";
import { startEmbeddedPostgres } from "./embedded-postgres.js";

/** Runs a tool that npm has put on the path, on this terminal; answers its exit code. */
function run(tool: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((done, fail) => {
    const child = spawn(tool, args, { stdio: "inherit", env });
    child.once("error", fail);
    child.once("exit", (code) => done(code ?? 1));
  });
}

const folder = await mkdtemp(join(tmpdir(), "surplus-food-lint-"));
try {
  const database = await startEmbeddedPostgres({ folder, durable: false });
  try {
    await migrate(database.url);
    const env = { ...process.env, LINT_DATABASE_URL: database.url };
    const codes = await Promise.all([
      run("eslint", ["--max-warnings", "0", "."], env),
      run("prettier", ["--check", "--log-level", "warn", "."], env),
    ]);
    process.exitCode = Math.max(...codes);
  } finally {
    await database.stop();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
