import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** How a script ended, and all that it printed. */
export interface Outcome {
  code: number;
  output: string;
}

/** Runs `scripts/<name>.ts` to its end, with this test's environment; `env` adds to it. */
export function runScript(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const script = fileURLToPath(new URL(`../../scripts/${name}.ts`, import.meta.url));
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", script, ...args],
      { env: { ...process.env, ...env } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
