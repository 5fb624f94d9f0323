import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "@jest/globals";
import { freePort } from "../../scripts/free-port.js";
import { ended } from "./processes.js";
import { scratchFolder } from "./scratch.js";
import { until } from "./until.js";

const PROGRAM = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"].find((path) => existsSync(path));

/** A suite that needs nginx; without it it is reported as skipped. */
export const describeWithNginx: (name: string, suite: () => void) => void = (name, suite) =>
  PROGRAM === undefined ? describe.skip(`${name} (no nginx)`, suite) : describe(name, suite);

/** Starts nginx in front of an API, as the example in scripts/ops configures it, with this change to it. */
export async function startNginx(apiUrl: string, change: (example: string) => string = (example) => example) {
  const folder = await scratchFolder("nginx");
  const port = await freePort();
  const example = await readFile(new URL("../../scripts/ops/nginx.conf", import.meta.url), "utf8");
  const settings = change(example)
    .replace("127.0.0.1:3000", new URL(apiUrl).host)
    .replace("listen 80;", `listen 127.0.0.1:${port};`)
    .replace("/var/cache/nginx/surplus-food", join(folder, "cache"))
    .replace(
      "http {",
      `http { access_log off; ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ")}`,
    );
  const file = join(folder, "nginx.conf");
  const owner = process.getuid?.() === 0 ? "user root;" : "";
  await writeFile(file, `daemon off; pid ${folder}/pid; error_log stderr; ${owner}\n${settings}`);
  const child = spawn(PROGRAM ?? "nginx", ["-p", folder, "-c", file], { stdio: ["ignore", "ignore", "pipe"] });
  let complaint = "";
  child.stderr.on("data", (text: Buffer) => (complaint += text.toString()));
  const url = `http://127.0.0.1:${port}`;
  await until(() => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${complaint}`);
    return fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return {
    url,
    stop: async () => {
      child.kill("SIGQUIT");
      await ended(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Folders that nginx would make beside its configuration. */
const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
