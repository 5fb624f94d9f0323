import { pino, type Logger } from "pino";
import { config } from "./config.js";

export type { Logger };

// Synchronous, so that the last lines of a killed process are not lost.
const destination = config.LOG_PRETTY
  ? pino.transport({
      target: "pino-pretty",
      options: { colorize: true, translateTime: "HH:MM:ss", ignore: "pid,hostname", singleLine: true },
    })
  : pino.destination({ fd: 1, sync: true });

/** The process's logger; requests and jobs log through a child of it with their `requestId`. */
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
