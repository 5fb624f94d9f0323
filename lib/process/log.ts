import { pino, type Logger } from "pino";
import { config } from "./config.js";

export type { Logger };

// Written at once, so that what a process did last is told even when it is killed.
const destination = config.LOG_PRETTY
  ? pino.transport({
      target: "pino-pretty",
      options: { colorize: true, translateTime: "HH:MM:ss", ignore: "pid,hostname", singleLine: true },
    })
  : pino.destination({ fd: 1, sync: true });

/** The process's logger; a request and a job log through a child of it that carries their `requestId`. */
export const log: Logger = pino(
  {
    level: config.LOG_LEVEL,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ["phone", "*.phone", "token", "*.token", "authorization", "*.authorization", "cookie", "*.cookie"],
      censor: "[redacted]",
    },
  },
  destination,
);
