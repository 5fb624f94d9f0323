import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, expect, test } from "@jest/globals";
import { push } from "../../queues/index.js";
import { sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { runUpkeep } from "../../workers/upkeep.js";
import * as cast from "../support/cast.js";
import {
  client,
  complaints,
  confirm,
  describeConsole,
  failingEndpoint,
  page,
  placeOrder,
  signInAdmin,
  startBulkAction,
} from "../support/console-scene.js";
import { runEvents } from "../support/events.js";
import { task } from "../support/task.js";

describeConsole("the operators' console in a browser", () => {
  beforeAll(() => signInAdmin("/admin/ops"));

  beforeEach(async () => {
    await sql`delete from staged_jobs`;
    complaints.length = 0;
  });

  async function find(words: string): Promise<void> {
    await page.getByRole("search").getByRole("searchbox").fill(words);
    await page.getByRole("search").getByRole("button").click();
  }

  test("an operator finds an order by its code, sees why a push was not sent, and replays its job", async () => {
    const { orderId, pickupCode } = await placeOrder();
    await runEvents(orderId);
    await sql`
      update staged_jobs
      set dead_at = now(), attempts = 8, last_error = '<b>403</b> from the push service'
      where queue = 'push'`;
    await page.goto("/admin/ops");
    await page.getByRole("link", { name: "2 dead jobs in push" }).waitFor();
    await find(pickupCode);
    await page.getByRole("link", { name: orderId }).click();
    const notification = page.getByRole("listitem").filter({ hasText: "ORDER_ACCEPTED" });
    await notification.getByText("was given up (<b>403</b> from the push service). Replay it.").waitFor();
    await page
      .getByRole("link", { name: /^push job \d+ given up/ })
      .first()
      .click();
    await confirm("the push service is back");
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
    await confirm("the push service is back");
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByRole("progressbar").waitFor();
    await page.getByRole("link", { name: "Do not load this page by itself" }).waitFor();
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
    await confirm("the device is gone");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText(`with notificationId=${payload.notificationId}`).waitFor();
    await runUpkeep(task({ task: "bulk-actions" }));
    await page.getByText(/^1 of 1, done at/).waitFor();
    expect(complaints).toEqual([]);
  });

  test("an action that is under way is stopped, and says how many jobs it has changed", async () => {
    const id = await startBulkAction();
    await page.goto(`/admin/ops/bulk-actions/${id}`);
    await page.getByRole("link", { name: "Stop it" }).click();
    await confirm("the wrong queue");
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
      await confirm("they can never succeed");
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
  });

  test("a queue is paused, which the first page says, and resumed", async () => {
    await page.goto("/admin/ops");
    await page.getByRole("row", { name: "sms" }).getByRole("link", { name: "sms" }).click();
    const form = page.getByRole("group", { name: "Pause it" });
    await confirm("the gateway is down", form);
    await form.getByRole("button", { name: "Pause" }).click();
    await page.getByText(/^Paused since/).waitFor();
    await page.getByRole("link", { name: "Now" }).click();
    await page.getByRole("listitem").filter({ hasText: "sms is paused" }).getByText("the gateway is down").waitFor();
    await page.getByRole("link", { name: "sms is paused" }).click();
    await confirm("it is back", page.getByRole("group", { name: "Resume it" }));
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("It runs.").waitFor();
    const slots = page.getByRole("group", { name: "Jobs that a process runs at once" });
    await slots.getByLabel("Number, empty for the configured one").fill("7");
    await confirm("the vendor is slow", slots);
    await slots.getByRole("button", { name: "Set" }).click();
    await page.getByText("A process runs 7 jobs at once.").waitFor();
    const rate = page.getByRole("group", { name: "Jobs that all processes together start a minute" });
    await rate.getByLabel("Rate, empty for no limit").fill("90");
    await confirm("the vendor is slow", rate);
    await rate.getByRole("button", { name: "Set the rate" }).click();
    await page.getByText("All together start 90 a minute.").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a job that waits is run now, and one that is due is snoozed; without a time that is explained", async () => {
    const payload = { notificationId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" };
    const id = await stageJob(sql, push, payload, { runAt: new Date(Date.now() + 3_600_000) });
    await page.goto(`/admin/ops/jobs/${id}`);
    await confirm("the vendor is down");
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByRole("status").getByText("Changed: 1 job.").waitFor();
    await page.getByText("push: DUE, after 0 attempts").waitFor();
    await confirm("the vendor is down");
    await page.getByRole("button", { name: "Snooze" }).click();
    await page.getByRole("alert").getByText("must be a later time for jobs that are snoozed").waitFor();
    await page.goBack();
    await page.getByLabel("Snooze until, UTC").fill("2100-01-01T09:00");
    await confirm("the vendor is down");
    await page.getByRole("button", { name: "Snooze" }).click();
    await page.getByText("push: WAITING, after 0 attempts").waitFor();
    await page.getByText("2100-01-01 09:00:00").waitFor();
    expect(complaints.filter((text) => !text.includes("400"))).toEqual([]);
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
    await confirm("the items are gone");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByRole("status").getByText("Changed: 2 events.").waitFor();
    expect(await page.getByRole("row").filter({ hasText: "unknown item" }).count()).toBe(2);
    await page.getByRole("link", { name: shop.id }).click();
    await page.getByLabel("All that match").check();
    await confirm("the items are gone");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText(`parked POS events of partner ${shop.id}`).waitFor();
    await runUpkeep(task({ task: "bulk-actions" }));
    await page.getByText(/^1 of 1, done at/).waitFor();
    await page.getByRole("link", { name: "Upkeep" }).click();
    const form = page.getByRole("group", { name: "Run a task now" });
    await form.getByLabel("Task").selectOption("no-shows");
    await confirm("after an outage", form);
    await form.getByRole("button", { name: "Run now" }).click();
    await page.getByRole("listitem").filter({ hasText: "task: no-shows" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("an endpoint of webhooks that fails is found, its deliveries are shown, and it is stopped and started", async () => {
    await failingEndpoint();
    await page.goto("/admin/ops");
    await page.getByRole("link", { name: "Webhooks", exact: true }).click();
    await page.getByRole("link", { name: "hooks.example.com" }).first().click();
    await page.getByRole("cell", { name: "503 <b>later</b>" }).waitFor();
    const form = page.getByRole("group", { name: "Stop it" });
    await confirm("its owner asked for it", form);
    await form.getByRole("button", { name: "Stop" }).click();
    await page.getByText("an operator has stopped it").waitFor();
    const start = page.getByRole("group", { name: "Start it" });
    await confirm("its owner has mended it", start);
    await start.getByRole("button", { name: "Start" }).click();
    await page.getByText("Of the platform: works.").waitFor();
    const again = page.getByRole("group", { name: "Send the events of a time again" });
    await again.getByLabel("Since, UTC").fill("2026-06-01T00:00");
    await confirm("its owner asked for it", again);
    await again.getByRole("button", { name: "Send again" }).click();
    await page
      .getByRole("status")
      .getByText(/Changed: \d+ events?\./)
      .waitFor();
    expect(complaints).toEqual([]);
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
    await confirm("its till floods us", form);
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
});
