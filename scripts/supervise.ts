import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Longer than an orderly stop takes, so that only a process that hangs is killed. */
const STOP_LIMIT_MS = 20_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export interface Supervised {
  /** Resolves when the process reports that it is up; rejects with NotStarted when it ends before. */
  up: Promise<void>;
  /** Stops the process, and kills it when that takes too long. */
  stop(): Promise<void>;
  /** Stops it in the same way and starts it again at once. */
  restart(): void;
  /** Kills it at once. */
  kill(): void;
}

/** A supervised process could not start; it has printed the reason itself. */
export class NotStarted extends Error {
  override name = "NotStarted";
}

/**
 * Runs a program in a child process and restarts it, after a pause, whenever it dies. The child has its own process group,
 * so that Ctrl-C reaches it through `stop` only, and an IPC channel, whose end tells it that this process is gone.
 */
export function supervise(
  name: string,
  program: URL,
  { env, nodeOptions = [] }: { env: NodeJS.ProcessEnv; nodeOptions?: readonly string[] },
): Supervised {
  let child: ChildProcess | undefined;
  let again: NodeJS.Timeout | undefined;
  let stopping = false;
  let restarting = false;
  let pause = FIRST_PAUSE_MS;

  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // the group has just ended
    }
  };

  /** Stops the process, and kills it when that takes too long; resolves when it has ended. */
  const end = async (running: ChildProcess) => {
    const exited = once(running, "exit");
    running.kill("SIGTERM");
    const limit = setTimeout(() => signalGroup("SIGKILL"), STOP_LIMIT_MS);
    await exited;
    clearTimeout(limit);
  };

  let launch = (): void => undefined;
  const up = new Promise<void>((resolve, reject) => {
    let wasUp = false;
    launch = () => {
      const startedAt = Date.now();
      const started = fork(program, {
        env,
        execArgv: [...process.execArgv, ...nodeOptions],
        detached: true,
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      child = started;
      started.once("message", () => {
        wasUp = true;
        resolve();
      });
      started.once("error", reject);
      started.once("exit", (code, signal) => {
        // what it started itself must not outlive it
        signalGroup("SIGKILL");
        child = undefined;
        if (stopping) return;
        if (restarting) {
          restarting = false;
          launch();
          return;
        }
        if (!wasUp) {
          reject(new NotStarted(`The ${name} could not start.`));
          return;
        }
        pause = Date.now() - startedAt > LONGEST_PAUSE_MS ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
        process.stderr.write(
          `The ${name} ended (${signal ?? `code ${code}`}); it starts again in ${pause / 1000} s.\n`,
        );
        again = setTimeout(launch, pause);
      });
    };
    launch();
  });

  return {
    up,
    async stop() {
      stopping = true;
      clearTimeout(again);
      if (child) await end(child);
    },
    restart() {
      clearTimeout(again);
      if (!child) {
        launch();
        return;
      }
      if (!restarting) void end(child);
      restarting = true;
    },
    kill: () => signalGroup("SIGKILL"),
  };
}
