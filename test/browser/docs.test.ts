import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Client } from "../support/api.js";
import { describeWithChromium, openPage, startChromium } from "../support/chromium.js";

const code = "123456";
process.env["OTP_FIXED_CODE"] = code;
const { accessTokenSeconds } = await import("../../lib/security/tokens.js");
const { endpoints } = await import("../../api/app.js");
const { startApi } = await import("../support/api.js");
const { until } = await import("../support/until.js");
const { newPhone, user } = await import("../support/cast.js");
const { closeDatabase } = await import("../../sql/db.js");

describeWithChromium("the reference in a browser", () => {
  let client: Client;
  let stopApi: () => Promise<void>;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  /** Errors that a user would not see in the page, and requests to other hosts. */
  let complaints: string[];

  beforeAll(async () => {
    ({ client, stop: stopApi } = await startApi());
    browser = await startChromium();
  });

  const open = async (width: number) => {
    context = await browser.newContext({ baseURL: client.url, viewport: { width, height: 812 } });
    ({ page, complaints } = await openPage(context, client.url));
    await page.goto("/");
    await page.getByRole("heading", { name: "Surplus-food marketplace" }).waitFor();
  };

  beforeEach(() => open(1_280));
  afterEach(() => context.close());

  afterAll(async () => {
    await browser.close();
    await stopApi();
    await closeDatabase();
  });

  const operation = (id: string) => page.locator(`.opblock[id$="-${id}"]`);

  async function logIn(phone: string): Promise<void> {
    await page.getByText("Log in", { exact: true }).first().click();
    await page.getByLabel("Phone").fill(phone);
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByLabel("Code").fill(code);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Logged in", { exact: true }).waitFor();
  }

  /** Reads the user's profile from the open entry of the operation, and returns the status of the response. */
  async function readProfile(): Promise<number> {
    const answered = page.waitForResponse((response) => response.url().endsWith("/api/v1/users/me"));
    const button = (name: string) => operation("readProfile").getByRole("button", { name });
    const press = (name: string) =>
      button(name)
        .click({ timeout: 10_000 })
        .then(
          () => true,
          () => false,
        );
    // after a reload Swagger UI may draw the operation once more, and forget the click before
    await until(async () => {
      if (await button("Try it out").isVisible()) await press("Try it out");
      return (await button("Execute").isVisible()) && press("Execute");
    });
    return (await answered).status();
  }

  /** Finds and opens the operation; it is still open after a reload, as its address says so. */
  async function openProfile(): Promise<void> {
    await page.getByRole("searchbox").fill("readProfile");
    await operation("readProfile").locator(".opblock-summary-control").first().click();
  }

  test("shows the conventions: the general ones, and those of a section once it is opened", async () => {
    await page.getByText("are problem documents (RFC 9457)").first().waitFor();
    const idempotency = page.getByText("A refused order does not consume its key.");
    expect(await idempotency.isVisible()).toBe(false);
    await page.getByRole("link", { name: "Orders", exact: true }).click();
    await idempotency.waitFor({ state: "visible" });
    await operation("placeOrder").waitFor();
    expect(complaints).toEqual([]);
  });

  test("finds an operation among all by words of its summary, its path or its description, or by a reason of its refusals", async () => {
    const search = page.getByRole("searchbox");
    for (const [words, id] of [
      ["cancel order", "cancelOrder"],
      ["GET users/me/service", "readServiceId"],
      ["no-shows in 30 days", "placeOrder"],
      ["NOT_ENOUGH", "placeOrder"],
    ] as const) {
      await search.fill(words);
      await operation(id).waitFor();
      expect(await operation("sendLoginCode").count()).toBe(0);
    }
    await search.fill("there is no such operation");
    await page.getByText(`0 of ${endpoints.length}`).waitFor();
    await page.getByText("No operation has all these words.").waitFor();
    await search.fill("");
    await page.getByRole("link", { name: "Authentication", exact: true }).waitFor();
    expect(await page.locator(".opblock-tag").count()).toBe(new Set(endpoints.map(({ tag }) => tag)).size);
    expect(complaints).toEqual([]);
  });

  test("shows the best matches first: a name that was typed, then words in names and paths, then words in texts", async () => {
    const search = async (words: string, first: string): Promise<string[]> => {
      await page.getByRole("searchbox").fill(words);
      const found = () =>
        page
          .locator(".opblock")
          .evaluateAll((all: { id: string }[]) => all.map(({ id }) => id.split("-").at(-1) ?? ""));
      await until(async () => (await found())[0] === first);
      return found();
    };
    // the code is sent before one logs in with it
    expect(await search("login", "logIn")).toContain("sendLoginCode");
    // orders have a section before that of promo codes
    const promo = await search("promo", "applyPromoCode");
    const inText = ["readLoyaltyScore", "placeOrder"];
    expect(inText.map((id) => promo.indexOf(id) > promo.indexOf("setPromoCodeActive"))).toEqual([true, true]);
    expect(complaints).toEqual([]);
  });

  test("logs in with a code, sends requests as that user, keeps the login over a reload, and logs out", async () => {
    await logIn(newPhone());
    await openProfile();
    expect(await readProfile()).toBe(200);
    await page.reload();
    await page.getByText("Logged in", { exact: true }).waitFor();
    expect(await readProfile()).toBe(200);
    const { cookies, origins } = await context.storageState();
    expect([cookies, origins]).toEqual([[], []]);
    expect(complaints).toEqual([]);
    await page.getByText("Logged in", { exact: true }).click();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("Log in", { exact: true }).first().waitFor();
    await page.reload();
    expect(await readProfile()).toBe(401);
  });

  test("renews a token that is about to expire", async () => {
    await logIn(newPhone());
    const renewed = page.waitForResponse((response) => response.url().endsWith("/auth/token/refresh"));
    await openProfile();
    await page.clock.setSystemTime(Date.now() + accessTokenSeconds * 1_000);
    expect(await readProfile()).toBe(200);
    expect((await renewed).status()).toBe(200);
    await page.reload();
    expect(await readProfile()).toBe(200);
    expect(complaints).toEqual([]);
  });

  test("says why a login is refused, and takes a token that is already there", async () => {
    await openProfile();
    await page.getByText("Log in", { exact: true }).first().click();
    await page.getByLabel("Phone").fill("12345");
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByText("phone: must be +7 followed by 10 digits").waitFor();
    await page.getByLabel("Or an access token").fill((await user(client)).client.token ?? "");
    await page.getByRole("button", { name: "Use it", exact: true }).click();
    await page.getByText("Logged in", { exact: true }).waitFor();
    expect(await readProfile()).toBe(200);
  });

  test("fits a phone: nothing scrolls sideways, not even an open section, an open operation or the login", async () => {
    await context.close();
    await open(375);
    const overhang = () => page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(await overhang()).toBe(0);
    for (const section of ["Orders", "Files"]) await page.getByRole("link", { name: section, exact: true }).click();
    for (const id of ["placeOrder", "listOrders", "listFiles"])
      await operation(id).locator(".opblock-summary-control").first().click();
    await operation("placeOrder").getByRole("button", { name: "Try it out" }).click();
    await page.getByText("Log in", { exact: true }).first().click();
    await operation("placeOrder").getByRole("button", { name: "Execute" }).waitFor();
    expect(await overhang()).toBe(0);
    await page.goto("/docs/errors");
    expect(await overhang()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
