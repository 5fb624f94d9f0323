import { describeErrorWithPlaces } from "./describe-error.js";
import { log } from "./log.js";

/** What has not ended by then is cut short: a process is gone within 20 s of being told to stop. */
const stopLimitMs = 18_000;

/** Ends a process that cannot start, with one line for whoever started it. */
export function exitWithLine(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

/** Ends the process when an error reaches nobody (rejections included): its state is unknown, and whatever supervises it starts a new one. */
export function exitOnUncaught(): void {
  process.on("uncaughtException", (error, origin) => {
    log.fatal({ error: describeErrorWithPlaces(error), origin }, "nobody handled an error: this process ends");
    process.exit(1);
  });
}

/** Tells a parent process that waits for it that this one does its work now. */
export function announceUp(): void {
  if (process.connected) process.send?.("up");
}

/**
 * Lets `stop` end the process in order at SIGTERM, at SIGINT, and when the parent process is gone that would otherwise
 * stop it. The same signal again ends it at once. Another one does not: Ctrl-C reaches a process from the terminal, and
 * its parent passes it on as SIGTERM.
 */
export function onStop(stop: () => Promise<void>): void {
  const received = new Set<string>();
  const handle = (event: string) => {
    if (received.has(event)) process.exit(1);
    received.add(event);
    if (received.size > 1) return;
    log.info({ event }, "stopping");
    setTimeout(() => {
      log.error("stopping took too long: what still runs is cut short");
      process.exit(1);
    }, stopLimitMs).unref();
    stop().then(
      () => {
        log.info("stopped");
        process.exit(0);
      },
      (error: unknown) => {
        log.error({ error: describeErrorWithPlaces(error) }, "could not stop in order");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
  process.on("disconnect", () => handle("disconnect"));
}
