import { parseArgs } from "node:util";
import { z } from "zod";
import { Argument } from "../../api/common/argument.js";
import type { By } from "../../api/common/operate.js";
import { exitWithLine } from "../../lib/process/lifecycle.js";
import { contracts } from "../../queues/index.js";
import { usage } from "../command.js";

// What the operator wants: the command, its words and its options.

const commands =
  "now | backlog [<queue>] | find <words> | order <id> | show <id> | jobs | replay, dismiss, run, snooze, cancel <number>… or --all | " +
  "actions | stop <id of an action> | " +
  "pause, resume <queue> | concurrency <queue> <number>|default | rate <queue> <number a minute>|default | disconnect <partner> | " +
  "events [replay|dismiss [<number>…|--all]] | webhooks [stop|start|resend <id>] [--since <time>] | " +
  "upkeep <task> | rollup --from <day> [--to <day>]";

const Queue = z.enum(contracts.map(({ queue }) => queue));
export const RowNumber = z.coerce.number().int().positive();
const Options = z.object({
  state: z.enum(["DEAD", "DUE", "WAITING"]).optional(),
  queue: Queue.optional(),
  error: z.string().min(1).max(200).optional(),
  "staged-from": z.coerce.date().optional(),
  "staged-before": z.coerce.date().optional(),
  attempts: z.coerce.number().int().min(1).max(999).optional(),
  argument: Argument.optional(),
  limit: z.coerce.number().int().min(1).max(10_000).default(50),
  at: z.coerce.date().optional(),
  until: z.coerce.date().optional(),
  since: z.coerce.date().optional(),
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  partner: z.uuid().optional(),
  why: z.string().trim().min(1).max(500).optional(),
  all: z.boolean(),
  yes: z.boolean(),
  json: z.boolean(),
});

const text = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

/** The arguments, or the reason why they are wrong. */
function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        ...{ state: text, queue: text, error: text, limit: text, at: text, until: text, from: text, to: text },
        ...{ "staged-from": text, "staged-before": text, attempts: text, argument: text },
        ...{ since: text, partner: text, why: text, all: flag, yes: flag, json: flag },
      },
    });
    return { ...Options.parse(values), words: positionals };
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : "";
    return exitWithLine(`${usage}: ${commands}${reason === "" ? "" : `\n${reason}`}`);
  }
}

const { words, ...others } = readArguments();
export const options = others;
export const [command = "", ...rest] = words;

/** Ends the program with the list of commands. */
export function exitWithUsage(): never {
  return exitWithLine(`${usage}: ${commands}`);
}

/** Who acts and why; ends the program unless it is sure. `what` is what would be done. */
export function consent(what: string): By {
  const { why, yes } = options;
  if (why === undefined) throw new Refused('Say why, for the audit log: --why "…"');
  if (!yes) throw new Refused(`This would ${what}. Say --yes to do it.`);
  return { actorId: null, why };
}

/** What is shown to the caller, who did not ask for something that can be done. */
export class Refused extends Error {
  override name = "Refused";
}

export function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw new Refused(z.prettifyError(result.error));
  return result.data;
}

/** The queue that a command names. */
export const onlyQueue = (): z.output<typeof Queue> => parsed(Queue, rest[0]);
