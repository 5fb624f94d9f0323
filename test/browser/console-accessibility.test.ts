import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "@jest/globals";
import axe from "axe-core";
import { z } from "zod";
import { posEvents, push } from "../../queues/index.js";
import { sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import {
  describeConsole,
  failingEndpoint,
  page,
  placeOrder,
  signInAdmin,
  startBulkAction,
} from "../support/console-scene.js";
import { runEvents } from "../support/events.js";

/** What axe says of a page. */
const Found = z.object({
  violations: z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) })),
});

describeConsole("on every page of the operators' console, in either colour scheme, axe finds nothing:", () => {
  let order: Awaited<ReturnType<typeof placeOrder>>;

  const paths: Record<string, () => Promise<string>> = {
    now: () => Promise.resolve(""),
    "dead jobs": () => Promise.resolve("/jobs"),
    "due jobs": () => Promise.resolve("/jobs?state=DUE"),
    "a job": async () => `/jobs/${await stageJob(sql, push, { notificationId: randomUUID() })}`,
    "bulk actions": () => Promise.resolve("/bulk-actions"),
    "the stop of a bulk action": async () => `/bulk-actions/${await startBulkAction()}/stop`,
    "a queue": () => Promise.resolve("/queues/push"),
    "a queue with the owners of its jobs": async () => {
      await stageJob(sql, posEvents, { partnerId: order.shop.id });
      return "/queues/pos-events";
    },
    "POS events": () => Promise.resolve("/pos-events"),
    webhooks: () => Promise.resolve("/webhooks?show=ALL"),
    "an endpoint of webhooks": async () => `/webhooks/${await failingEndpoint()}`,
    upkeep: () => Promise.resolve("/upkeep"),
    "a search without a result": () => Promise.resolve("/search?q=nothing"),
    "a refusal": () => Promise.resolve("/orders/none"),
    "an order": () => Promise.resolve(`/orders/${order.orderId}`),
    "a partner": () => Promise.resolve(`/things/${order.shop.id}`),
    "a search with results": () => Promise.resolve(`/search?q=${order.orderId}`),
    "a notification": async () => {
      const [row] = await sql<{ id: string }[]>`select id from notifications limit 1`;
      return `/notifications/${row?.id ?? ""}`;
    },
  };

  beforeAll(async () => {
    await signInAdmin("/admin/ops");
    order = await placeOrder();
    await runEvents(order.orderId);
    await failingEndpoint();
    await startBulkAction();
    await sql`
      insert into staged_jobs (queue, payload, dead_at, last_error)
      values ('push', '{}', now(), 'HTTP 418'), ('push', '{}', null, null)`;
    await sql`
      insert into queue_minutes (minute, queue, staged, done, oldest_due_seconds)
      select date_trunc('minute', now()) - n * interval '1 minute', queue, n, n + 1, 0
      from generate_series(1, 60) as n, unnest(array['push', 'upkeep']) as queue`;
    await sql`
      insert into processes (id, role, version, started_at, facts)
      values ('host/1/a', 'WORKER', '1.0.0', now(), ${sql.json({
        ...{ statements: 0, transactions: 0, waiting: 0 },
        replicas: [{ name: "replica", lagSeconds: 1 }],
        vendors: [{ vendor: "push: fcm", calls: 10, failed: 9 }],
        paused: [{ queue: "push", origin: "https://push.example", since: new Date(), until: new Date() }],
      })})`;
    await sql`insert into vendor_calls (vendor, succeeded_at, failed_at) values ('push: fcm', now() - interval '1 hour', now())`;
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at, last_error)
      values
        (${order.shop.id}::uuid, 'generic', 'till', 'queued', '{"kind": "order.status"}', 'QUEUED', null, null),
        (${order.shop.id}::uuid, 'generic', 'till', 'parked', '{"kind": "order.status"}', 'PARKED', now(), 'unknown item')`;
  });

  test.each(Object.keys(paths))("%s", async (name) => {
    await page.goto(`/admin/ops${await paths[name]!()}`);
    // evaluated from outside, as the pages' policy allows no scripts
    await page.evaluate(axe.source);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const found = Found.parse(await page.evaluate("axe.run()"));
      const where = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
      expect([colorScheme, where]).toEqual([colorScheme, []]);
    }
  });
});
