import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Client } from "../support/api.js";
import { describeWithChromium, openPage, startChromium } from "../support/chromium.js";

const code = "123456";
process.env["OTP_FIXED_CODE"] = code;
const { push } = await import("../../queues/index.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { stageJob } = await import("../../sql/outbox.js");
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
    await closeSignals();
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
    await page.getByLabel("Queue").selectOption("push");
    await page.getByLabel("Error contains").fill("503");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("link", { name: "Older jobs" }).click();
    await page.getByRole("cell", { name: "HTTP 503" }).first().waitFor();
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

  test("a wrong address and invalid input are explained on a page", async () => {
    await page.goto("/admin/ops/orders/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f");
    await page.getByRole("alert").getByText("This order was not found.").waitFor();
    await page.goto("/admin/ops/orders/none");
    await page.getByRole("alert").waitFor();
    await page.getByRole("link", { name: "Back to the console" }).click();
    await page.getByRole("heading", { name: "Now" }).waitFor();
  });

  test("strangers are led to the sign-in, and after it to the page that they wanted", async () => {
    await context.clearCookies();
    await signIn("/admin/ops/jobs?state=WAITING");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect(page.url()).toContain("/admin/ops/jobs?state=WAITING");
  });
});
