import { spawn, execFile, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseEnv, promisify } from "node:util";
import { newCredentialsKey, newSigningKey } from "../../lib/process/keys.js";
import { startEmbeddedPostgres } from "../../scripts/embedded-postgres.js";
import { freePort } from "../../scripts/free-port.js";
import { scratchFolder } from "../support/scratch.js";
import { startStandIns, type StandIns } from "../support/storm/stand-ins.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
/** Size of the disk: small, so that it fills quickly. */
const DISK_MB = 64;
const AGAIN_MS = 2_000;

/** A process of the deployment that is restarted when it ends. */
interface Program {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The service as it is deployed on one machine, with third parties in this process, and the machine's environment in a
 * file.
 */
export interface Deployment {
  folder: string;
  /** The environment of its processes and of the operator's shell. */
  envFile: string;
  url: string;
  standIns: StandIns;
  /** Whether files are on a separate disk. */
  ownDisk: boolean;
  /** Changes variables in the file; null removes one. They take effect when the processes are restarted. */
  configure(changes: Record<string, string | null>, note?: string): Promise<void>;
  /** Starts the API and the workers again, with the file as it is. */
  restart(): Promise<void>;
  /** Replaces the workers by another program, or with `null` by the usual one. */
  deploy(program: string | null): Promise<void>;
  /** Kills Redis and starts it again, empty. */
  wipeBroker(): Promise<void>;
  stop(): Promise<void>;
}

async function listening(child: ChildProcess): Promise<void> {
  for await (const text of child.stdout ?? []) if (String(text).includes("Ready to accept connections")) break;
  child.stdout?.resume();
}

async function startBroker(port: number, folder: string): Promise<ChildProcess> {
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder];
  const child = spawn("redis-server", [...settings, "--maxmemory-policy", "noeviction"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await listening(child);
  return child;
}

/** Mounts a small disk; false without the right to. */
const mountDisk = (folder: string): Promise<boolean> =>
  run("mount", ["-t", "tmpfs", "-o", `size=${DISK_MB}m`, "tmpfs", folder]).then(
    () => true,
    () => false,
  );

const readEnv = async (file: string): Promise<NodeJS.ProcessEnv> => parseEnv(await readFile(file, "utf8"));

const writeEnv = (file: string, variables: readonly (readonly [string, string])[]) =>
  writeFile(
    file,
    variables.map(([name, value]) => `${name}='${value}'\n`),
    { mode: 0o600 },
  );

/** The running processes of the service. */
const children: ChildProcess[] = [];

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

/** Prepares a program of the deployment, with a file as its log. */
function program(
  name: string,
  args: () => readonly string[],
  { folder, envFile }: Pick<Deployment, "folder" | "envFile">,
): Program {
  let child: ChildProcess | undefined;
  let wanted = false;
  const start = async (): Promise<void> => {
    wanted = true;
    const log = await open(join(folder, `${name}.log`), "a");
    const started = spawn(process.execPath, ["--import", "tsx", ...args()], {
      cwd: root,
      env: { PATH: process.env["PATH"], ...(await readEnv(envFile)) },
      stdio: ["ignore", log.fd, log.fd],
    });
    child = started;
    children.push(started);
    started.once("exit", () => {
      void log.close();
      if (wanted && child === started) void delay(AGAIN_MS).then(() => (wanted ? start() : undefined));
    });
  };
  return {
    start,
    stop: async () => {
      wanted = false;
      const ending = child;
      child = undefined;
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
      const ended = once(ending, "exit");
      ending.kill("SIGTERM");
      await ended;
    },
  };
}

async function untilReady(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    if (answer?.ok) return;
    await delay(200);
  }
}

/** Starts Postgres, Redis, third parties, the API and the workers. */
export async function startDeployment(): Promise<Deployment> {
  const folder = await scratchFolder("incidents");
  const files = join(folder, "files");
  await mkdir(files);
  const ownDisk = await mountDisk(files);
  const [postgres, standIns, port, brokerPort] = await Promise.all([
    startEmbeddedPostgres({ folder: join(folder, "postgres"), durable: false }),
    startStandIns(),
    freePort(),
    freePort(),
  ]);
  let broker = await startBroker(brokerPort, folder);
  const url = `http://127.0.0.1:${port}`;
  const envFile = join(folder, "service.env");
  const variables = {
    NODE_ENV: "development",
    HOST: "127.0.0.1",
    PORT: String(port),
    PUBLIC_URL: url,
    DATABASE_URL: postgres.url,
    REDIS_URL: `redis://127.0.0.1:${brokerPort}`,
    STORAGE_DIR: files,
    SIGNING_KEYS: newSigningKey(),
    CREDENTIALS_KEYS: newCredentialsKey(),
    ADMIN_PHONES: "+79990000000",
    OTP_FIXED_CODE: "000000",
    RATE_LIMIT_DISABLED: "1",
    ...standIns.env,
  };
  await writeEnv(envFile, Object.entries(variables));
  await run(process.execPath, ["--import", "tsx", "scripts/migrate.ts"], {
    cwd: root,
    env: { PATH: process.env["PATH"], ...(await readEnv(envFile)) },
  });

  const place = { folder, envFile };
  /** The workers' program; null for the usual one. */
  let deployed: string | null = null;
  const api = program("api", () => ["api/server.ts"], place);
  const workers = ["worker-1", "worker-2"].map((name) => program(name, () => [deployed ?? "workers/main.ts"], place));
  const programs = [...workers, api];
  const start = async () => {
    await Promise.all(programs.map((each) => each.start()));
    await untilReady(url);
  };
  const restart = async () => {
    await Promise.all(programs.map((each) => each.stop()));
    await start();
  };
  await start();
  // a failure leaves no processes behind
  process.once("exit", () => {
    for (const { pid } of [...children, broker]) if (pid !== undefined) killIfAlive(pid);
  });
  return {
    ...place,
    url,
    standIns,
    ownDisk,
    configure: async (changes, note) => {
      const next = Object.entries({ ...(await readEnv(envFile)), ...changes });
      await writeEnv(
        envFile,
        next.flatMap(([name, value]) => (typeof value === "string" ? [[name, value] as const] : [])),
      );
      if (note !== undefined) await appendFile(envFile, `# ${note}\n`);
    },
    restart,
    deploy: async (from) => {
      deployed = from;
      await restart();
    },
    wipeBroker: async () => {
      const ended = once(broker, "exit");
      broker.kill("SIGKILL");
      await ended;
      broker = await startBroker(brokerPort, folder);
    },
    stop: async () => {
      await Promise.all(programs.map((each) => each.stop()));
      const ended = once(broker, "exit");
      broker.kill();
      await Promise.all([ended, standIns.stop(), postgres.stop()]);
      if (ownDisk) await run("umount", [files]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
