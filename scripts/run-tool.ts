import { spawn } from "node:child_process";

/** Runs a tool that npm has put on the path, on this terminal; returns its exit code. */
export function runTool(tool: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(tool, args, { stdio: "inherit", env });
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
