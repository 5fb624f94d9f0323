import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { closeBroker } from "../../queues/broker.js";
import { contracts, push } from "../../queues/index.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { closeSignals } from "../../sql/signals.js";
import { consume } from "../../workers/consume.js";
import { deliverPush } from "../../workers/push.js";
import { startRelay } from "../../workers/relay.js";
import { startApi, type Client } from "../support/api.js";
import { admin, user } from "../support/cast.js";
import { describeWithChromium, openPage, startChromium } from "../support/chromium.js";
import { fcmRefusals, type startFcm } from "../support/push/fcm.js";
import { stagedRow } from "../support/trial.js";
import { until } from "../support/until.js";

/** What a test file configures and starts. */
interface Deployment {
  broker: string;
  code: string;
  fcm: Awaited<ReturnType<typeof startFcm>>;
}

/** An operator's visit to the dashboard, on the broker that the test file has configured. */
export function describeDashboard({ broker, code, fcm }: Deployment): void {
  describeWithChromium(`the dashboard in a browser, with BullMQ on ${broker}`, () => {
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
    });

    beforeEach(async () => {
      context = await browser.newContext({ baseURL: client.url });
      ({ page, complaints } = await openPage(context, client.url));
    });

    afterEach(() => context.close());

    afterAll(async () => {
      await browser.close();
      await stopApi();
      await Promise.all([closeBroker(), closeSignals(), fcm.stop()]);
      await closeDatabase();
    });

    /** Inserts a notification for a user with a phone and without quiet hours. */
    async function insertMessage(): Promise<string> {
      const anna = await user(client);
      const device = { pushToken: "phone:of-this-test", platform: "android", locale: "en-GB" };
      await anna.client.post("/api/v1/notifications/devices", device);
      const always = { quietHoursStart: "00:00:00", quietHoursEnd: "00:00:00" };
      await anna.client.put("/api/v1/users/me/notification-preferences", always);
      const [message] = await sql<{ id: string }[]>`
        insert into notifications (user_id, kind, facts) values (${anna.id}::uuid, 'LEVEL_REACHED', '{"level": "SILVER"}')
        returning id`;
      return message?.id ?? "";
    }

    async function signIn(phone: string): Promise<void> {
      await page.goto("/admin/queues");
      await page.getByLabel("An admin's phone").fill(phone);
      await page.getByRole("button", { name: "Send a code" }).click();
      await page.getByLabel("Code").fill(code);
      await page.getByRole("button", { name: "Sign in" }).click();
    }

    test("an admin signs in, retries a failed push, which is sent once, and signs out", async () => {
      // without automatic retries the test need not wait
      const once = { ...push, attempts: 1 };
      const consumer = consume(once, deliverPush, { concurrency: 1, signal: new AbortController().signal });
      const relay = startRelay([once]);
      try {
        fcm.answerWith(fcmRefusals.permissionDenied);
        const id = await stageJob(sql, push, { notificationId: await insertMessage() });
        const { generation } = await until(() => stagedRow(id, ({ dead }) => dead));
        expect(fcm.received).toEqual([]);

        await signIn((await admin(client)).phone);
        for (const { queue } of contracts) await page.getByRole("link", { name: queue, exact: true }).first().waitFor();

        await page.getByRole("link", { name: "push", exact: true }).first().click();
        await page.getByRole("link", { name: /^failed/i }).click();
        await page.getByRole("link", { name: `${id}.${generation}` }).click();
        await page
          .getByText(/\b403\b/)
          .first()
          .waitFor();
        await page.getByRole("tab", { name: "Data" }).click();
        await page.getByText("notificationId").waitFor();

        await page.locator("main button:not([role=tab])").first().click();
        await page.getByRole("button", { name: "Confirm" }).click();
        await until(() => stagedRow(id, ({ done, dead }) => done && !dead));
        await page.getByText("Finished at").waitFor();
        expect(fcm.received).toHaveLength(1);

        await page.locator("header [aria-haspopup=menu]").click();
        await page.getByText("Sign out").click();
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.getByLabel("An admin's phone").waitFor();
        await page.goto("/admin/queues/queue/push");
        expect(new URL(page.url()).pathname).toBe("/admin/queues/sign-in");
        expect(complaints).toEqual([]);
      } finally {
        await Promise.all([relay.stop(), consumer.close()]);
      }
    });

    test("a customer with a correct code gets only the message that the dashboard is for admins", async () => {
      await signIn((await user(client)).phone);
      await page.getByRole("alert").getByText("not an admin's").waitFor();
      expect(await context.cookies()).toEqual([]);
      await page.goto("/admin/queues/queue/push");
      expect(new URL(page.url()).pathname).toBe("/admin/queues/sign-in");
    });
  });
}
