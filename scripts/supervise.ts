import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Longer than a process takes to stop in order, so that only one that hangs is killed. */
const STOP_LIMIT_MS = 20_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export interface Supervised {
  /** Resolves when the process says that it is up; rejects when it ends before, which it has then explained itself. */
  up: Promise<void>;
  /** Ends the process in order, and hard when that takes too long. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** A process of ours that could not start; it has printed why. */
export class NotStarted extends Error {
  override name = "NotStarted";
}

/**
 * Runs one of our programs in a process of its own and starts it again, after a pause, whenever it dies. It has a
 * process group of its own, so that Ctrl-C reaches it through `stop` only, and a channel to this process, by whose end
 * it notices that this process is gone.
 */
export function supervise(name: string, program: URL, env: NodeJS.ProcessEnv): Supervised {
  let child: ChildProcess | undefined;
  let again: NodeJS.Timeout | undefined;
  let stopping = false;
  let pause = FIRST_PAUSE_MS;

  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // the group has just ended
    }
  };

  const up = new Promise<void>((resolve, reject) => {
    let wasUp = false;
    const launch = () => {
      const startedAt = Date.now();
      const started = fork(program, { env, detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
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
      if (!child) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      const limit = setTimeout(() => signalGroup("SIGKILL"), STOP_LIMIT_MS);
      await exited;
      clearTimeout(limit);
    },
    kill: () => signalGroup("SIGKILL"),
  };
}
