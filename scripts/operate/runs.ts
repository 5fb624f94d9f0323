import { z } from "zod";
import { rollUpNow, runUpkeepNow } from "../../api/common/operate.js";
import { upkeepTasks } from "../../queues/upkeep.js";
import { consent, options, parsed, Refused, rest } from "./arguments.js";
import { print } from "./table.js";

/** Stages an upkeep task now. */
export async function upkeep(): Promise<void> {
  const task = parsed(z.enum(upkeepTasks), rest[0]);
  print([{ job: await runUpkeepNow(task, consent(`stage ${task}`)) }]);
}

/** Stages the rollups of days. */
export async function rollup(): Promise<void> {
  const { from, to = from } = options;
  if (from === undefined || to === undefined) throw new Refused("Name the days: --from 2026-01-01 [--to 2026-01-31]");
  print([{ days: await rollUpNow({ from, to }, consent(`roll up ${from} to ${to}`)) }]);
}
