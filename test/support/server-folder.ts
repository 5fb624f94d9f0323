import { spawn } from "node:child_process";
import { once } from "node:events";
import { scratchFolder } from "./scratch.js";

/** A process that stops the server and removes its files when its input ends, that is, however this process ends. */
const CLEAN_UP = `
  cat > /dev/null
  server=$(head -n 1 "$0/data/postmaster.pid") && kill -QUIT "$server"
  for moment in $(seq 100); do kill -0 "$server" 2> /dev/null || break; sleep 0.05; done
  rm -rf "$0"`;

/** A folder for a Postgres. The folder and the server in it are removed on `remove` or when this process ends. */
export async function serverFolder(): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await scratchFolder("test");
  const cleaner = spawn("sh", ["-c", CLEAN_UP, folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  return {
    folder,
    async remove() {
      cleaner.stdin.end();
      await once(cleaner, "exit");
    },
  };
}
