import { z } from "zod";
import { changeQueue } from "../../api/common/operate.js";
import { jobOwners, partnerEvents, queueSetting } from "../../api/common/overview.js";
import { consent, onlyQueue, parsed, rest } from "./arguments.js";
import { print } from "./table.js";

/** Prints who has the most of a queue's due jobs; without a queue, of POS events: their jobs are one for each partner. */
export async function backlog(): Promise<void> {
  if (rest.length > 0) print((await jobOwners(onlyQueue())).map((owner) => ({ ...owner })));
  else print((await partnerEvents()).map((partner) => ({ ...partner })));
}

/** Changes the queue that the command names; `what` is what that would do, before its name. */
export async function setQueue(what: string, change: Parameters<typeof changeQueue>[1]): Promise<void> {
  const queue = onlyQueue();
  await changeQueue(queue, change, consent(`${what} ${queue}`));
  print([{ ...(await queueSetting(queue)) }]);
}

/** Sets how many jobs a process runs at once. */
export async function concurrency(): Promise<void> {
  const number = rest[1] === "default" ? null : parsed(z.coerce.number().int().min(1).max(1_000), rest[1]);
  await setQueue(`run ${number ?? "as many jobs as configured"} at once of`, { concurrency: number });
}

/** Sets how many jobs all processes together start a minute. */
export async function rate(): Promise<void> {
  const number = rest[1] === "default" ? null : parsed(z.coerce.number().int().min(1).max(1_000_000), rest[1]);
  await setQueue(number === null ? "end the limit of" : `start at most ${number} jobs a minute of`, {
    perMinute: number,
  });
}
