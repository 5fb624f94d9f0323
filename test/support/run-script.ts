import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** How a program ended, and all that it printed. */
export interface Outcome {
  code: number;
  output: string;
}

function run(program: URL, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", fileURLToPath(program), ...args],
      { env: { ...process.env, ...env } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}

/** Runs `scripts/<name>.ts` to its end, with this test's environment; `env` adds to it. */
export const runScript = (name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  run(new URL(`../../scripts/${name}.ts`, import.meta.url), args, env);

/** Runs one of the programs in this folder in the same way. */
export const runHelper = (name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  run(new URL(`${name}.ts`, import.meta.url), args, env);
