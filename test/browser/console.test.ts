import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import axe from "axe-core";
import { z } from "zod";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Client } from "../support/api.js";
import { describeWithChromium, openPage, startChromium } from "../support/chromium.js";

const code = "123456";
/** What axe says of a page. */
const Found = z.object({
  violations: z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) })),
});
process.env["OTP_FIXED_CODE"] = code;
const { closeBroker } = await import("../../queues/broker.js");
const { posEvents, push } = await import("../../queues/index.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { stageJob } = await import("../../sql/outbox.js");
const { insertBulkAction } = await import("../../sql/operators/bulk-actions.js");
const { anyJob } = await import("../../sql/operators/jobs.js");
const { closeSignals } = await import("../../sql/signals.js");
const { runUpkeep } = await import("../../workers/upkeep.js");
const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { runEvents } = await import("../support/events.js");
const { task } = await import("../support/task.js");

describeWithChromium("the operators' console in a browser", () => {
  let client: Client;
  let stopApi: () => Promise<void>;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  /** Errors that a user would not see in the page. */
  let complaints: string[];

  beforeAll(async () => {
    ({ client, stop: stopApi } = await startApi());
    browser = await startChromium();
    context = await browser.newContext({ baseURL: client.url, viewport: { width: 390, height: 844 } });
    ({ page, complaints } = await openPage(context, client.url));
  });

  afterAll(async () => {
    await browser.close();
    await stopApi();
    await Promise.all([closeBroker(), closeSignals()]);
    await closeDatabase();
  });

  async function signIn(path: string): Promise<void> {
    await page.goto(path);
    await page.getByLabel("An admin's phone").fill((await cast.admin(client)).phone);
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByLabel("Code").fill(code);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  async function find(words: string): Promise<void> {
    await page.getByRole("search").getByRole("searchbox").fill(words);
    await page.getByRole("search").getByRole("button").click();
  }

  test("an operator finds an order by its code, sees why a push was not sent, and replays its job", async () => {
    const customer = await cast.user(client);
    const shop = await cast.bakery(client);
    const boxId = await cast.listBox(shop, { price: 100 });
    const items = [{ menuItemId: boxId, qty: 1 }];
    const order = await customer.client.post("/api/v1/orders", { items, totalAmount: 100, partnerId: shop.id });
    await runEvents(order.string("orderId"));
    await sql`
      update staged_jobs
      set dead_at = now(), attempts = 8, last_error = '<b>403</b> from the push service'
      where queue = 'push'`;

    await signIn("/admin/ops");
    expect(new URL(page.url()).pathname).toBe("/admin/ops");
    await page.getByRole("link", { name: "2 dead jobs in push" }).waitFor();
    await find(order.string("pickupCode"));
    await page.getByRole("link", { name: order.string("orderId") }).click();
    const notification = page.getByRole("listitem").filter({ hasText: "ORDER_ACCEPTED" });
    await notification.getByText("was given up (<b>403</b> from the push service). Replay it.").waitFor();
    await page
      .getByRole("link", { name: /^push job \d+ given up/ })
      .first()
      .click();
    await page.getByLabel("Why").fill("the push service is back");
    await page.getByLabel("I am sure").check();
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText("push: DUE, after 0 attempts").waitFor();
    expect(complaints).toEqual([]);
  });

  test("all dead jobs that match are replayed from one form, with their progress", async () => {
    const before = Number(await stageJob(sql, push, { notificationId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" }));
    await sql`
      insert into staged_jobs (queue, payload, dead_at, last_error)
      select 'push', '{}', now(), 'HTTP 503' from generate_series(1, 1200)`;
    await page.goto("/admin/ops/jobs");
    await page.locator("select[name=queue]").selectOption("push");
    await page.getByLabel("Error contains", { exact: true }).fill("503");
    await page.getByText("Times and attempts").click();
    await page.getByLabel("Staged from, UTC").fill("2020-01-01T00:00");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("link", { name: "Older jobs" }).click();
    await page.getByRole("cell", { name: "HTTP 503" }).first().waitFor();
    expect(await page.getByLabel("Staged from, UTC").inputValue()).toBe("2020-01-01T00:00");
    await page.getByLabel("All that match").check();
    await page.getByLabel("Why").fill("the push service is back");
    await page.getByLabel("I am sure").check();
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("progressbar").waitFor();
    await runUpkeep(task({ task: "bulk-actions" }));
    // the page loads itself again while the action goes on
    await page.getByText(/^1200 of 1200, done at/).waitFor();
    const [{ replayed } = { replayed: 0 }] = await sql<{ replayed: number }[]>`
      select count(*) as replayed from staged_jobs where id > ${before}::bigint and dead_at is null and queue = 'push'`;
    expect(replayed).toBe(1_200);
    expect(complaints).toEqual([]);
  });

  test("the jobs with the same argument are one click away, and chosen by it", async () => {
    const payload = { notificationId: randomUUID() };
    const id = await stageJob(sql, push, payload);
    await sql`update staged_jobs set dead_at = now(), last_error = 'HTTP 410' where id = ${id}::bigint`;
    await page.goto(`/admin/ops/jobs/${id}`);
    await page.getByRole("link", { name: `dead jobs with notificationId=${payload.notificationId}` }).click();
    expect(await page.getByLabel("Argument, name=value").inputValue()).toBe(`notificationId=${payload.notificationId}`);
    expect(await page.getByRole("checkbox", { name: /^Job / }).count()).toBe(1);
    await page.getByLabel("All that match").check();
    await page.getByLabel("Why").fill("the device is gone");
    await page.getByLabel("I am sure").check();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText(`with notificationId=${payload.notificationId}`).waitFor();
    await runUpkeep(task({ task: "bulk-actions" }));
    await page.getByText(/^1 of 1, done at/).waitFor();
    expect(complaints).toEqual([]);
  });

  test("an action that is under way is stopped, and says how many jobs it has changed", async () => {
    const id = await insertBulkAction(sql, {
      ...{
        ...anyJob,
        partnerId: null,
        kind: "DISMISS",
        state: "DEAD",
        queue: "sms",
        until: null,
        why: "a test",
        actorId: null,
      },
    });
    await page.goto(`/admin/ops/bulk-actions/${id}`);
    await page.getByRole("link", { name: "Stop it" }).click();
    await page.getByLabel("Why").fill("the wrong queue");
    await page.getByLabel("I am sure").check();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText(/^0 of 0, stopped at .*: the wrong queue$/).waitFor();
    expect(complaints).toEqual([]);
  });

  test("jobs are chosen from the list and dismissed; without a choice that is explained", async () => {
    const ids = await sql<{ id: number }[]>`
      insert into staged_jobs (queue, payload, dead_at, last_error)
      select 'push', '{}', now(), 'HTTP 418' from generate_series(1, 3)
      returning id`;
    await page.goto("/admin/ops/jobs?error=418");
    const dismiss = async () => {
      await page.getByLabel("Why").fill("they can never succeed");
      await page.getByLabel("I am sure").check();
      await page.getByRole("button", { name: "Dismiss" }).click();
    };
    await dismiss();
    await page.getByRole("alert").getByText("choose some, or all that match").waitFor();
    await page.goBack();
    for (const { id } of ids.slice(1)) await page.getByLabel(`Job ${id}`).check();
    await dismiss();
    await page.getByRole("status").getByText("Changed: 2 jobs.").waitFor();
    expect(await page.getByLabel("Error contains", { exact: true }).inputValue()).toBe("418");
    expect(await page.getByRole("checkbox", { name: /^Job / }).count()).toBe(1);
    complaints.length = 0;
  });

  async function sure(): Promise<void> {
    await page.getByLabel("Why").last().fill("the vendor is down");
    await page.getByLabel("I am sure").last().check();
  }

  test("a queue is paused, which the first page says, and resumed", async () => {
    await page.goto("/admin/ops");
    await page.getByRole("row", { name: "sms" }).getByRole("link", { name: "sms" }).click();
    const form = page.getByRole("group", { name: "Pause it" });
    await form.getByLabel("Why").fill("the gateway is down");
    await form.getByLabel("I am sure").check();
    await form.getByRole("button", { name: "Pause" }).click();
    await page.getByText(/^Paused since/).waitFor();
    await page.getByRole("link", { name: "Now" }).click();
    await page.getByRole("listitem").filter({ hasText: "sms is paused" }).getByText("the gateway is down").waitFor();
    await page.getByRole("link", { name: "sms is paused" }).click();
    await page.getByRole("group", { name: "Resume it" }).getByLabel("Why").fill("it is back");
    await page.getByRole("group", { name: "Resume it" }).getByLabel("I am sure").check();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("It runs.").waitFor();
    const slots = page.getByRole("group", { name: "Jobs that a process runs at once" });
    await slots.getByLabel("Number, empty for the configured one").fill("7");
    await slots.getByLabel("Why").fill("the vendor is slow");
    await slots.getByLabel("I am sure").check();
    await slots.getByRole("button", { name: "Set" }).click();
    await page.getByText("A process runs 7 jobs at once.").waitFor();
    const rate = page.getByRole("group", { name: "Jobs that all processes together start a minute" });
    await rate.getByLabel("Rate, empty for no limit").fill("90");
    await rate.getByLabel("Why").fill("the vendor is slow");
    await rate.getByLabel("I am sure").check();
    await rate.getByRole("button", { name: "Set the rate" }).click();
    await page.getByText("All together start 90 a minute.").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a job that waits is run now, and one that is due is snoozed; without a time that is explained", async () => {
    const payload = { notificationId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" };
    const id = await stageJob(sql, push, payload, { runAt: new Date(Date.now() + 3_600_000) });
    await page.goto(`/admin/ops/jobs/${id}`);
    await sure();
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByRole("status").getByText("Changed: 1 job.").waitFor();
    await page.getByText("push: DUE, after 0 attempts").waitFor();
    await sure();
    await page.getByRole("button", { name: "Snooze" }).click();
    await page.getByRole("alert").getByText("must be a later time for jobs that are snoozed").waitFor();
    await page.goBack();
    await page.getByLabel("Snooze until, UTC").fill("2100-01-01T09:00");
    await sure();
    await page.getByRole("button", { name: "Snooze" }).click();
    await page.getByText("push: WAITING, after 0 attempts").waitFor();
    await page.getByText("2100-01-01 09:00:00").waitFor();
    expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
    complaints.length = 0;
  });

  test("parked POS events are chosen and dismissed, then all of a partner, and an upkeep task is run", async () => {
    const [other, shop] = [await cast.bakery(client), await cast.bakery(client)];
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at, last_error)
      select partner_id::uuid, 'generic', 'till', n::text, '{"kind": "order.status"}', 'PARKED', now(), 'unknown item'
      from unnest(${[other.id, shop.id, shop.id, shop.id]}::text[]) with ordinality as event (partner_id, n)
      order by n`;
    await page.goto("/admin/ops/pos-events");
    for (const row of (await page.getByRole("row").filter({ hasText: "unknown item" }).all()).slice(0, 2))
      await row.getByRole("checkbox").check();
    await page.getByLabel("Why").fill("the items are gone");
    await page.getByLabel("I am sure").check();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByRole("status").getByText("Changed: 2 events.").waitFor();
    expect(await page.getByRole("row").filter({ hasText: "unknown item" }).count()).toBe(2);
    await page.getByRole("link", { name: shop.id }).click();
    await page.getByLabel("All that match").check();
    await page.getByLabel("Why").fill("the items are gone");
    await page.getByLabel("I am sure").check();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText(`parked POS events of partner ${shop.id}`).waitFor();
    await runUpkeep(task({ task: "bulk-actions" }));
    await page.getByText(/^1 of 1, done at/).waitFor();
    await page.getByRole("link", { name: "Upkeep" }).click();
    const form = page.getByRole("group", { name: "Run a task now" });
    await form.getByLabel("Task").selectOption("no-shows");
    await form.getByLabel("Why").fill("after an outage");
    await form.getByLabel("I am sure").check();
    await form.getByRole("button", { name: "Run now" }).click();
    await page.getByRole("listitem").filter({ hasText: "task: no-shows" }).waitFor();
    expect(complaints).toEqual([]);
  });

  /** Inserts an endpoint of the platform that fails; returns its id. */
  async function failingEndpoint(): Promise<string> {
    const [row] = await sql<{ id: string }[]>`
      with endpoint as (
        insert into webhook_endpoints (url, secret, position, failures, failing_since)
        select 'https://hooks.example.com/events', '', last_position, 3, now() from event_log
        returning id
      ), delivery as (
        insert into webhook_deliveries (
          endpoint_id, position, event_id, type, version, at, data, attempts, answered, answer, ms, attempted_at
        )
        select id, 1, gen_random_uuid(), 'box.back', 1, now(), '{}', 3, 503, '<b>later</b>', 20, now() from endpoint
      )
      select id from endpoint`;
    return row?.id ?? "";
  }

  test("an endpoint of webhooks that fails is found, its deliveries are shown, and it is stopped and started", async () => {
    await failingEndpoint();
    await page.goto("/admin/ops");
    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByRole("link", { name: "hooks.example.com" }).first().click();
    await page.getByRole("cell", { name: "503 <b>later</b>" }).waitFor();
    const form = page.getByRole("group", { name: "Stop it" });
    await form.getByLabel("Why").fill("its owner asked for it");
    await form.getByLabel("I am sure").check();
    await form.getByRole("button", { name: "Stop" }).click();
    await page.getByText("an operator has stopped it").waitFor();
    const start = page.getByRole("group", { name: "Start it" });
    await start.getByLabel("Why").fill("its owner has mended it");
    await start.getByLabel("I am sure").check();
    await start.getByRole("button", { name: "Start" }).click();
    await page.getByText("Of the platform: works.").waitFor();
    const again = page.getByRole("group", { name: "Send the events of a time again" });
    await again.getByLabel("Since, UTC").fill("2026-06-01T00:00");
    await again.getByLabel("Why").fill("its owner asked for it");
    await again.getByLabel("I am sure").check();
    await again.getByRole("button", { name: "Send again" }).click();
    await page
      .getByRole("status")
      .getByText(/Changed: \d+ events?\./)
      .waitFor();
    expect(complaints).toEqual([]);
  });

  describe("on every page, in either colour scheme, axe finds nothing:", () => {
    const paths: Record<string, () => Promise<string>> = {
      now: () => Promise.resolve(""),
      "dead jobs": () => Promise.resolve("/jobs"),
      "due jobs": () => Promise.resolve("/jobs?state=DUE"),
      "a job": async () => `/jobs/${await stageJob(sql, push, { notificationId: randomUUID() })}`,
      "bulk actions": () => Promise.resolve("/bulk-actions"),
      "the stop of a bulk action": async () => {
        const [row] = await sql<{ id: string }[]>`select id from bulk_actions limit 1`;
        return `/bulk-actions/${row?.id ?? ""}/stop`;
      },
      "a queue": () => Promise.resolve("/queues/push"),
      "a queue with the owners of its jobs": async () => {
        const [shop] = await sql<{ id: string }[]>`select id from partners limit 1`;
        await stageJob(sql, posEvents, { partnerId: shop?.id ?? "" });
        return "/queues/pos-events";
      },
      "POS events": () => Promise.resolve("/pos-events"),
      webhooks: () => Promise.resolve("/webhooks?show=ALL"),
      "an endpoint of webhooks": async () => `/webhooks/${await failingEndpoint()}`,
      upkeep: () => Promise.resolve("/upkeep"),
      "a search without a result": () => Promise.resolve("/search?q=nothing"),
      "a refusal": () => Promise.resolve("/orders/none"),
      "an order": async () => `/orders/${await someOrder()}`,
      "a partner": async () => {
        const [row] = await sql<{ id: string }[]>`select id from partners limit 1`;
        return `/things/${row?.id ?? ""}`;
      },
      "a search with results": async () => `/search?q=${await someOrder()}`,
      "a notification": async () => {
        const [row] = await sql<{ id: string }[]>`select id from notifications limit 1`;
        return `/notifications/${row?.id ?? ""}`;
      },
    };
    const someOrder = async () => (await sql<{ id: string }[]>`select id from orders limit 1`)[0]?.id ?? "";

    beforeAll(async () => {
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
        insert into pos_events (partner_id, provider, account, event_id, change)
        select id, 'generic', 'till', 'queued', '{"kind": "order.status"}' from partners`;
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
      complaints.length = 0;
    });
  });

  test("a partner is found by its id and disconnected from its POS", async () => {
    const shop = await cast.bakery(client);
    await sql`
      insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
      values (${shop.id}::uuid, 'generic', ${shop.id}, '', now() + interval '1 hour')`;
    await page.goto("/admin/ops");
    await find(shop.id);
    await page.getByRole("link", { name: shop.id }).click();
    const form = page.getByRole("group", { name: "Disconnect its POS" });
    await form.getByLabel("Why").fill("its till floods us");
    await form.getByLabel("I am sure").check();
    await form.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("status").getByText("Changed: 1 connection.").waitFor();
    expect(await sql`select from pos_credentials where partner_id = ${shop.id}::uuid`).toHaveLength(0);
    expect(complaints).toEqual([]);
  });

  test("the form of a job is filled in and sent with the keyboard alone", async () => {
    const id = await stageJob(sql, push, { notificationId: randomUUID() });
    await page.goto(`/admin/ops/jobs/${id}`);
    await page.getByLabel("Why").focus();
    await page.keyboard.type("a test");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Cancel" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("push: DONE").waitFor();
  });

  test("a wrong address and invalid input are explained on a page", async () => {
    await page.goto("/admin/ops/orders/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f");
    await page.getByRole("alert").getByText("This order was not found.").waitFor();
    await page.goto("/admin/ops/orders/none");
    await page.getByRole("alert").waitFor();
    await page.getByRole("link", { name: "Back to the console" }).click();
    await page.getByRole("heading", { name: "Now" }).waitFor();
  });

  test("an observer looks at the console, and is not shown what they may not do; an admin sees a customer's phone", async () => {
    const orderId = (
      await sql<{ id: string; phone: string }[]>`
      select o.id, u.phone from orders o join users u on u.id = o.user_id limit 1`
    )[0]!;
    await page.goto(`/admin/ops/orders/${orderId.id}`);
    expect(await page.getByText(orderId.phone).count()).toBe(0);
    await sure();
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText(orderId.phone).waitFor();
    await context.clearCookies();
    const observer = await cast.user(client);
    await sql`update users set is_observer = true where id = ${observer.id}::uuid`;
    await page.goto("/admin/ops/queues/push");
    await page.getByLabel("An admin's phone").fill(observer.phone);
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByLabel("Code").fill(code);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Queue push" }).waitFor();
    expect(await page.getByRole("button").allTextContents()).toEqual(["Find"]);
    await page.goto("/admin/ops/pos-events");
    await page.getByRole("cell", { name: "unknown item" }).waitFor();
    await page.goto("/admin/ops/jobs");
    await page.getByRole("cell", { name: "HTTP 418" }).waitFor();
    expect(await page.getByRole("checkbox").count()).toBe(0);
    const refused = await page.request.post("/admin/ops/queues/push", {
      form: { kind: "PAUSE", why: "x", sure: "on" },
      headers: { "sec-fetch-site": "same-origin" },
    });
    expect(refused.status()).toBe(403);
    expect((await page.request.get("/admin/queues/api/queues")).status()).toBe(403);
  });

  test("strangers are led to the sign-in, and after it to the page that they wanted", async () => {
    await context.clearCookies();
    await signIn("/admin/ops/jobs?state=WAITING");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect(page.url()).toContain("/admin/ops/jobs?state=WAITING");
  });
});
