import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { PermanentError } from "../../lib/errors.js";
import { closeBroker } from "../../queues/broker.js";
import { contracts, push } from "../../queues/index.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { stageJob } from "../../sql/queries/staged-jobs.js";
import { closeSignals } from "../../sql/signals.js";
import { consume } from "../../workers/consume.js";
import { startRelay } from "../../workers/relay.js";
import { startApi, type Client } from "../support/api.js";
import { admin, user } from "../support/cast.js";
import { describeWithChromium, startChromium } from "../support/chromium.js";
import { stagedRow } from "../support/trial.js";
import { until } from "../support/until.js";

/** A browser's first steps take long on a busy machine. */
const slow = 60_000;

/** An operator's visit to the dashboard; the same whichever broker the test file has configured. */
export function describeDashboard(broker: string, code: string): void {
  describeWithChromium(`the dashboard in a browser, with BullMQ on ${broker}`, () => {
    let client: Client;
    let stopApi: () => Promise<void>;
    let browser: Browser;
    let context: BrowserContext;
    let page: Page;
    /** Everything that a browser's user would not see and that must not be. */
    let complaints: string[];

    beforeAll(async () => {
      ({ client, stop: stopApi } = await startApi());
      browser = await startChromium();
    }, slow);

    beforeEach(async () => {
      context = await browser.newContext({ baseURL: client.url });
      page = await context.newPage();
      page.setDefaultTimeout(15_000);
      complaints = [];
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      context.on("request", (request) => {
        if (!request.url().startsWith(client.url) && !request.url().startsWith("data:")) complaints.push(request.url());
      });
    });

    afterEach(() => context.close(), slow);

    afterAll(async () => {
      await browser.close();
      await stopApi();
      await Promise.all([closeBroker(), closeSignals()]);
      await closeDatabase();
    }, slow);

    async function signIn(phone: string): Promise<void> {
      await page.goto("/admin/queues");
      await page.getByLabel("An admin's phone").fill(phone);
      await page.getByRole("button", { name: "Send a code" }).click();
      await page.getByLabel("Code").fill(code);
      await page.getByRole("button", { name: "Sign in" }).click();
    }

    test(
      "an admin signs in, finds a failed job, retries it once its cause is gone, and signs out",
      async () => {
        let providerIsDown = true;
        const consumer = consume(
          push,
          () => (providerIsDown ? Promise.reject(new PermanentError("the provider refuses us")) : Promise.resolve()),
          { concurrency: 1, signal: new AbortController().signal },
        );
        const relay = startRelay([push]);
        try {
          const id = await stageJob(sql, push, { notificationId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" });
          await until(() => stagedRow(id, ({ dead }) => dead));

          await signIn((await admin(client)).phone);
          for (const { queue } of contracts)
            await page.getByRole("link", { name: queue, exact: true }).first().waitFor();

          await page.getByRole("link", { name: "push", exact: true }).first().click();
          await page.getByRole("link", { name: /^failed/i }).click();
          await page.getByRole("link", { name: `${id}.0` }).click();
          await page.getByText("the provider refuses us").waitFor();
          await page.getByRole("tab", { name: "Data" }).click();
          await page.getByText("notificationId").waitFor();

          providerIsDown = false;
          await page.locator("main button:not([role=tab])").first().click();
          await page.getByRole("button", { name: "Confirm" }).click();
          await until(() => stagedRow(id, ({ done, dead }) => done && !dead));
          await page.getByText("Finished at").waitFor();

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
      },
      slow,
    );

    test(
      "a customer with the right code is shown nothing but that it is not for them",
      async () => {
        await signIn((await user(client)).phone);
        await page.getByRole("alert").getByText("not an admin's").waitFor();
        expect(await context.cookies()).toEqual([]);
        await page.goto("/admin/queues/queue/push");
        expect(new URL(page.url()).pathname).toBe("/admin/queues/sign-in");
      },
      slow,
    );
  });
}
