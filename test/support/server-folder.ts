import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Waits for the end of its input, which comes when this process ends in whatever way; then stops the server and removes its files. */
const CLEAN_UP = `
  cat > /dev/null
  server=$(head -n 1 "$0/data/postmaster.pid") && kill -QUIT "$server"
  for moment in $(seq 100); do kill -0 "$server" 2> /dev/null || break; sleep 0.05; done
  rm -rf "$0"`;

/** A folder for a Postgres that is gone, server and all, when it is removed or when this process ends. */
export async function serverFolder(): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "surplus-food-test-"));
  const cleaner = spawn("sh", ["-c", CLEAN_UP, folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  return {
    folder,
    async remove() {
      cleaner.stdin.end();
      await once(cleaner, "exit");
    },
  };
}
