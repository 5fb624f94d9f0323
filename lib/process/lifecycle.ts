import { describeErrorWithStack } from "./describe-error.js";
import { log } from "./log.js";

/** The process exits after this even with work running, so that it is gone within 20 s of SIGTERM. */
const stopLimitMs = 18_000;

/** Exits with one line on stderr: the process cannot start. */
export function exitWithLine(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

/** Exits at an uncaught error or rejection: the process's state is unknown, and its supervisor starts a new one. */
export function exitOnUncaught(): void {
  process.on("uncaughtException", (error, origin) => {
    log.fatal({ error: describeErrorWithStack(error), origin }, "uncaught error: the process exits");
    process.exit(1);
  });
}

/** Reports to a parent process that waits for it that this one is up. */
export function announceUp(): void {
  if (process.connected) process.send?.("up");
}

/**
 * Runs `stop` and exits at SIGTERM, at SIGINT, and when the parent process is gone. The same signal again exits at once. A
 * different one does not: Ctrl-C sends SIGINT to parent and child, and the parent then sends SIGTERM.
 */
export function onStop(stop: () => Promise<void>): void {
  const received = new Set<string>();
  const handle = (event: string) => {
    if (received.has(event)) process.exit(1);
    received.add(event);
    if (received.size > 1) return;
    log.info({ event }, "stopping");
    setTimeout(() => {
      log.error("stopping took too long: exiting with work still running");
      process.exit(1);
    }, stopLimitMs).unref();
    stop().then(
      () => {
        log.info("stopped");
        process.exit(0);
      },
      (error: unknown) => {
        log.error({ error: describeErrorWithStack(error) }, "stopping failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
  process.on("disconnect", () => handle("disconnect"));
}
