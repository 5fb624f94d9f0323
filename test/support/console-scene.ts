import { afterAll, beforeAll } from "@jest/globals";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { closeBroker } from "../../queues/broker.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { insertBulkAction } from "../../sql/operators/bulk-actions.js";
import { anyJob } from "../../sql/operators/jobs.js";
import { closeSignals } from "../../sql/signals.js";
import { startApi, type Client } from "./api.js";
import * as cast from "./cast.js";
import { describeWithChromium, openPage, startChromium } from "./chromium.js";
import { codeOf } from "./logins.js";

export let client: Client;
export let context: BrowserContext;
export let page: Page;
/** Errors that a user would not see in the page. */
export let complaints: string[];

/** A suite with a page of Chromium, as wide as a phone's, before an admin signs in; without Chromium it is reported as skipped. */
export const describeConsole = (name: string, suite: () => void): void =>
  describeWithChromium(name, () => {
    let browser: Browser;
    let stopApi: () => Promise<void>;

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

    suite();
  });

/** Goes to a page of the console as a stranger, and signs in there with this phone. */
export async function signIn(path: string, { phone }: { phone: string }): Promise<void> {
  await page.goto(path);
  await page.getByLabel("An admin's phone").fill(phone);
  await page.getByRole("button", { name: "Send a code" }).click();
  const code = page.getByLabel("Code");
  await code.waitFor();
  await code.fill(await codeOf(phone));
  await page.getByRole("button", { name: "Sign in" }).click();
}

export const signInAdmin = async (path: string): Promise<void> => signIn(path, await cast.admin(client));

/** Confirms a form, or the last one of the page. */
export async function confirm(why: string, form: Page | Locator = page): Promise<void> {
  await form.getByLabel("Why").last().fill(why);
  await form.getByLabel("I am sure").last().check();
}

/** A customer's order of a box. */
export async function placeOrder() {
  const customer = await cast.user(client);
  const shop = await cast.bakery(client);
  const items = [{ menuItemId: await cast.listBox(shop, { price: 100 }), qty: 1 }];
  const order = await customer.client.post("/api/v1/orders", { items, totalAmount: 100, partnerId: shop.id });
  return { orderId: order.string("orderId"), pickupCode: order.string("pickupCode"), customer, shop };
}

/** Inserts an endpoint of the platform that fails; returns its id. */
export async function failingEndpoint(): Promise<string> {
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

/** Has all dead jobs of a queue dismissed; returns the action's id. */
export const startBulkAction = () =>
  insertBulkAction(sql, {
    ...{ ...anyJob, partnerId: null, kind: "DISMISS", state: "DEAD", queue: "sms", until: null },
    ...{ why: "a test", actorId: null },
  });
