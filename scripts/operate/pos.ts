import { z } from "zod";
import { actOnParkedEvents, disconnectPos } from "../../api/common/operate.js";
import { sql } from "../../sql/db.js";
import { anyJob } from "../../sql/operators/jobs.js";
import { listParkedEvents } from "../../sql/queries/pos-events.js";
import { consent, options, parsed, Refused, rest, RowNumber } from "./arguments.js";
import { carryOut } from "./jobs.js";
import { print } from "./table.js";

/** Prints parked POS events, or replays or dismisses them. */
export async function events(): Promise<void> {
  const [kind, ...numbers] = rest;
  const { partner: partnerId = null, error = null } = options;
  if (kind === undefined) {
    const rows = await listParkedEvents(sql, { partnerId, error }, null, options.limit);
    print(
      rows.map(({ id, partnerId, provider, kind: of, attempts, receivedAt, lastError }) => ({
        ...{ id, partnerId, provider, kind: of, attempts, receivedAt, lastError },
      })),
    );
    return;
  }
  const act = parsed(z.enum(["replay", "dismiss"]), kind) === "replay" ? "REPLAY" : "DISMISS";
  if (options.all && numbers.length > 0) throw new Refused("Name events or say --all, not both.");
  if (options.all) {
    const by = consent(
      `${kind} all parked POS events ${partnerId === null ? "of all partners" : `of ${partnerId}`} that match`,
    );
    await carryOut({ ...anyJob, kind: act, state: "PARKED", partnerId, error, until: null, ...by }, "events");
    return;
  }
  const ids = parsed(z.array(RowNumber).min(1), numbers);
  const by = consent(`${kind} ${ids.length} parked POS events`);
  print([{ changed: await actOnParkedEvents(act, { ids, partnerId: null }, by, null) }]);
}

/** Disconnects a partner from its POS. */
export async function disconnect(): Promise<void> {
  const partnerId = parsed(z.uuid(), rest[0]);
  if (!(await disconnectPos(partnerId, consent(`disconnect the POS of ${partnerId}`), null)))
    throw new Refused("No partner with this id is connected to a POS.");
  print([{ disconnected: partnerId }]);
}
