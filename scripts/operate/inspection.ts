import { z } from "zod";
import { inspectNotification, inspectOrder, inspectThing, recently, search } from "../../api/common/inspect.js";
import { options, parsed, Refused, rest } from "./arguments.js";
import { print } from "./table.js";

/** Prints what an id, a code or a phone belongs to. */
export async function find(): Promise<void> {
  const rows = await search(parsed(z.string().min(1).max(200), rest.join(" ")), recently(options.at), null);
  print(rows.map(({ kind, id, state, at }) => ({ kind, id, state, at })));
}

/** Prints what happened to an order. */
export async function order(): Promise<void> {
  const found = await inspectOrder(parsed(z.uuid(), rest[0]));
  if (!found) throw new Refused("There is no such order.");
  print(found.timeline.map(({ at, what }) => ({ at, what })));
}

/** Prints what happened to an order, a notification, or anything else that has an id. */
export async function show(): Promise<void> {
  const id = parsed(z.uuid(), rest[0]);
  const found = (await inspectOrder(id)) ?? (await inspectNotification(id)) ?? (await inspectThing(id));
  if (!found) throw new Refused("There is nothing with this id.");
  print(found.timeline.map(({ at, what }) => ({ at, what })));
}
