import { execFile } from "node:child_process";
import { compiled } from "./compiled.js";

/** A program's exit code and its output. */
export interface Outcome {
  code: number;
  output: string;
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [compiled(program), ...args],
      { env: { ...process.env, ...env } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}

/** Runs `scripts/<name>.ts` to its end with this test's environment and `env`. */
export const runScript = (name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  run(`scripts/${name}.ts`, args, env);

/** Runs a program of this folder in the same way. */
export const runHelper = (name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome> =>
  run(`test/support/${name}.ts`, args, env);
