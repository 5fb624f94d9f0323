import { z } from "zod";
import { resendForOperator, switchEndpoint } from "../../api/common/webhook-endpoints.js";
import { sql } from "../../sql/db.js";
import { listWatchedEndpoints } from "../../sql/queries/webhook-operations.js";
import { consent, options, parsed, Refused, rest } from "./arguments.js";
import { print } from "./table.js";

/** Prints endpoints of webhooks that fail, or all; or stops or starts one, or sends it events again. */
export async function webhooks(): Promise<void> {
  const [kind, endpoint] = rest;
  const { since, limit, all } = options;
  if (kind === undefined) {
    const rows = await listWatchedEndpoints(sql, { failing: !all, id: null }, null, limit);
    print(
      rows.map(({ id, partner, url, stoppedWhy, failures, failingSince, pending, oldestAt }) => ({
        ...{ id, partner, host: new URL(url).host, stopped: stoppedWhy, failures, failingSince, pending, oldestAt },
      })),
    );
    return;
  }
  const act = parsed(z.enum(["stop", "start", "resend"]), kind);
  const id = parsed(z.uuid(), endpoint);
  if (act === "resend") {
    if (since === undefined) throw new Refused("Say since when: --since 2026-06-01T02:00Z");
    const by = consent(`send the events since ${since.toISOString()} again`);
    const resent = await resendForOperator(id, { since, before: new Date(), after: 0 }, by);
    if (!resent) throw new Refused("There is no such endpoint.");
    print([{ ...resent }]);
    return;
  }
  const changed = await switchEndpoint(id, act === "start", consent(`${act} the endpoint ${id}`));
  if (changed === undefined) throw new Refused("There is no such endpoint.");
  print([{ changed }]);
}
