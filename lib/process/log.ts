import { pino, type Logger } from "pino";
import { config } from "./config.js";

export type { Logger };

// Synchronous, so that the last lines of a killed process are not lost.
const destination: pino.DestinationStream = config.LOG_PRETTY
  ? pino.transport({
      target: "pino-pretty",
      options: { colorize: true, translateTime: "HH:MM:ss", ignore: "pid,hostname", singleLine: true },
    })
  : pino.destination({ fd: 1, sync: true });

let added = (): object => ({});

/** Adds to every line, while traces are on, what `fields` returns then. */
export const addToLines = (fields: () => object): void => void (added = fields);

/** The process's logger; requests and jobs log through a child of it with their `requestId`, and with their `traceId` if there is one. */
export const log: Logger = pino(
  {
    level: config.LOG_LEVEL,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    ...(config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined && { mixin: () => added() }),
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ["phone", "*.phone", "token", "*.token", "authorization", "*.authorization", "cookie", "*.cookie"],
      censor: "[redacted]",
    },
  },
  destination,
);

/** Levels whose lines are for the log alone. */
const FOR_DEVELOPERS = /^\{"level":"(trace|debug)"/;

/** Where a child's lines go: to the log and, from `info` on, to `keep`. */
class Tee implements pino.DestinationStream {
  readonly #keep: (line: string) => void;

  constructor(keep: (line: string) => void) {
    this.#keep = keep;
  }

  write(line: string): void {
    destination.write(line);
    if (!FOR_DEVELOPERS.test(line)) this.#keep(line);
  }
}

/** Returns a child of the process's logger whose lines from `info` on `keep` gets too, as they are in the log: redacted, as JSON. */
export const keptLog = (bindings: Readonly<Record<string, unknown>>, keep: (line: string) => void): Logger =>
  Object.assign(log.child(bindings), { [pino.symbols.streamSym]: new Tee(keep) });

/** Whether the success of a request is logged, and those of its jobs: all of them or none, by the request's id. */
export function logsSuccess(id: string): boolean {
  // FNV-1a
  let hash = 0x811c9dc5;
  for (let place = 0; place < id.length; place += 1) hash = Math.imul(hash ^ id.charCodeAt(place), 0x01000193);
  return (hash >>> 0) / 2 ** 32 < config.LOG_SUCCESSES;
}
