import { afterAll, beforeAll, expect, test } from "@jest/globals";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import decodeQR from "qr/decode.js";
import sharp from "sharp";
import { z } from "zod";
import { describeWithChromium, openPage, startChromium } from "../support/chromium.js";

const code = "123456";
Object.assign(process.env, { NODE_ENV: "development", OTP_FIXED_CODE: code });
const { closeDatabase, sql } = await import("../../sql/db.js");
const { numberEvents } = await import("../../sql/queries/events.js");
const { closeSignals } = await import("../../sql/signals.js");
const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { order } = await import("../support/orders.js");
const { until } = await import("../support/until.js");

/** The violations that axe finds on a page. */
const Found = z.object({ violations: z.array(z.object({ id: z.string() })) });

const { client, stop } = await startApi();

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

test("the board is sent with a policy that lets nothing run but itself", async () => {
  const page = await fetch(`${client.url}/demo/board`);
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/default-src 'none';script-src 'self' 'sha256-[^']+';style-src 'sha256-[^']+';/);
  expect(policy).not.toContain("unsafe");
});

describeWithChromium("the order board in a browser", () => {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  /** Console errors, failed requests and violations of the content policy, of all pages. */
  const complaints: string[][] = [];
  const numbering = setInterval(() => void numberEvents(sql, 1_000).catch(() => undefined), 100);

  beforeAll(async () => {
    browser = await startChromium();
  });

  afterAll(async () => {
    clearInterval(numbering);
    await browser.close();
  });

  async function open(width: number): Promise<Page> {
    const context = await browser.newContext({ baseURL: client.url, viewport: { width, height: 844 } });
    contexts.push(context);
    const opened = await openPage(context, client.url);
    complaints.push(opened.complaints);
    await opened.page.goto("/demo/board");
    return opened.page;
  }

  async function logIn(page: Page, phone: string): Promise<void> {
    await page.getByLabel("Phone", { exact: true }).fill(phone);
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByLabel("Code", { exact: true }).fill(code);
    await page.getByRole("button", { name: "Log in" }).click();
  }

  /** Decodes the QR code on the page. */
  async function scan(page: Page): Promise<string> {
    const picture = await page.getByRole("img", { name: "QR code" }).screenshot();
    const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return decodeQR({ width: info.width, height: info.height, data: new Uint8Array(data) });
  }

  const cards = (page: Page, column: "ACCEPTED" | "READY") => page.locator(`#${column} article`);

  test("orders come in with a sound, and are handed over by the customer's QR code", async () => {
    const shop = await cast.bakery(client);
    const customer = await cast.user(client);
    const boxId = await cast.listBox(shop, { price: 100, quantity: 5 });
    const board = await open(1_280);
    await logIn(board, shop.owner.phone);
    await board.getByText("● live").waitFor();
    await board.getByText("5 left").waitFor();

    const orderId = (await order(customer, shop, [{ boxId, qty: 2 }], 200)).string("orderId");
    await cards(board, "ACCEPTED")
      .filter({ hasText: orderId.slice(-6) })
      .waitFor();
    await board.getByText("3 left").waitFor();
    await board.locator("body[data-rung='1']").waitFor();

    const phone = await open(390);
    await logIn(phone, customer.phone);
    await phone.getByText("being prepared").waitFor();
    await phone.getByText("● live").waitFor();
    await cards(board, "ACCEPTED").getByRole("button", { name: "Ready" }).click();
    await cards(board, "READY").waitFor();
    await phone.getByText("ready", { exact: true }).waitFor();

    const scanned = await scan(phone);
    expect(scanned).toMatch(new RegExp(`^${orderId} \\d{6}$`));
    await board.getByLabel("Scanned pickup code").fill(scanned);
    await board.getByLabel("Scanned pickup code").press("Enter");
    await phone.getByText("handed over").waitFor();
    await until(async () => (await cards(board, "READY").count()) === 0);
    expect(complaints.flat()).toEqual([]);
  });

  test("a customer who comes back to the page sees an order that was placed elsewhere", async () => {
    const shop = await cast.bakery(client);
    const customer = await cast.user(client);
    const boxId = await cast.listBox(shop, { price: 100 });
    const page = await open(390);
    await logIn(page, customer.phone);
    await page.getByText("You have no orders yet.").waitFor();
    await order(customer, shop, [{ boxId, qty: 1 }], 100);
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.getByText("being prepared").waitFor();
    expect(complaints.flat()).toEqual([]);
  });

  test("the board fits a phone, is accessible, keeps its login, and a typed code hands an order over", async () => {
    const shop = await cast.bakery(client);
    const customer = await cast.user(client);
    const boxId = await cast.listBox(shop, { price: 100, title: "Вечерний набор с очень длинным названием" });
    const [placed] = [
      await order(customer, shop, [{ boxId, qty: 1 }], 100),
      await order(customer, shop, [{ boxId, qty: 1 }], 100),
    ];
    const page = await open(390);
    await logIn(page, shop.owner.phone);
    await until(async () => (await cards(page, "ACCEPTED").count()) === 2);
    await page.reload();
    await page.getByText("● live").waitFor();
    await page.getByLabel(`Pickup code of ${placed.string("orderId").slice(-6)}`).fill(placed.string("pickupCode"));
    await cards(page, "ACCEPTED").last().getByRole("button", { name: "Hand over" }).click();
    await until(async () => (await cards(page, "ACCEPTED").count()) === 1);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await page.evaluate(axe.source);
    expect(Found.parse(await page.evaluate("axe.run()")).violations).toEqual([]);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Phone", { exact: true }).waitFor();
    expect(complaints.flat()).toEqual([]);
  });
});
