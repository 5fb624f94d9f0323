import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { buildPackage } from "../../../scripts/client/build.js";
import { describeWithChromium, startChromium } from "../../support/chromium.js";
import { scratchFolder } from "../../support/scratch.js";
import { freePort } from "../../../scripts/free-port.js";

const client = await scratchFolder("client");
const here = fileURLToPath(new URL(".", import.meta.url));
const runtime = fileURLToPath(new URL("../../../node_modules/@oazapfts/runtime", import.meta.url));

const page = `<!doctype html><title>App</title><link rel="icon" href="data:,"><script type="importmap">{"imports": {
  "surplus-food-client": "/client/index.js", "@oazapfts/runtime": "/runtime/index.js", "@oazapfts/runtime/": "/runtime/"
}}</script><script type="module" src="/in-page.js"></script>`;

/** Serves the app: the package as it is, without a bundler. */
const pages = createServer((request, response) => {
  const [, folder = "", name = ""] = /^\/(?:(client|runtime)\/)?([\w-]+(?:\.js)?)$/.exec(request.url ?? "") ?? [];
  const path = { client, runtime, "": here.replace(/\/$/, "") }[folder] ?? "";
  if (name === "") return void response.setHeader("content-type", "text/html").end(page);
  readFile(`${path}/${name}${extname(name) === "" ? ".js" : ""}`).then(
    (bytes) => response.setHeader("content-type", "text/javascript").end(bytes),
    () => response.writeHead(404).end(),
  );
}).listen(0, "127.0.0.1");
await once(pages, "listening");
const address = pages.address();
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;

const code = "123456";
const port = await freePort();
Object.assign(process.env, { PUBLIC_URL: `http://127.0.0.1:${port}`, CORS_ORIGINS: origin, OTP_FIXED_CODE: code });
const { startApi } = await import("../../support/api.js");
const { addMenuItem, newPhone } = await import("../../support/cast.js");
const { openShop } = await import("../../support/shop.js");
const { disconnect } = await import("../../support/queue-worker.js");

afterAll(async () => {
  pages.closeAllConnections();
  pages.close();
  await rm(client, { recursive: true, force: true });
  await disconnect();
});

describeWithChromium("the client in a browser, at another origin than the API's", () => {
  let api: Awaited<ReturnType<typeof startApi>>;
  let browser: Browser;
  let context: BrowserContext;
  let complaints: string[];

  beforeAll(async () => {
    await buildPackage(client);
    api = await startApi(port);
    browser = await startChromium();
  });

  beforeEach(async () => {
    complaints = [];
    context = await browser.newContext();
  });

  afterAll(async () => {
    await browser.close();
    await api.stop();
  });

  async function openTab(): Promise<Page> {
    const tab = await context.newPage();
    // the test has its own timeout
    tab.setDefaultTimeout(0);
    tab.on("pageerror", (error) => complaints.push(error.message));
    await tab.goto(origin);
    await tab.waitForFunction("window.app");
    return tab;
  }

  /** Calls a function of the app with the API's address. */
  const call = (tab: Page, name: string, ...args: unknown[]): Promise<unknown> =>
    tab.evaluate(`app.${name}(...${JSON.stringify([api.client.url, ...args])})`);

  test("logs in, exchanges an expired token at most once in each of two tabs, orders, and reads lists page by page", async () => {
    const shop = await openShop(api.client);
    const phone = newPhone();
    const tabs = [await openTab(), await openTab()] as const;
    expect(await call(tabs[0], "logIn", phone, code)).toBe(phone);

    await call(tabs[0], "spoilToken");
    const read = await Promise.all(tabs.map((tab) => call(tab, "readAtOnce", 10)));
    const reads = read as { statuses: number[]; refreshes: number }[];
    expect(new Set(reads.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
    // a tab may see late what another has stored; the API then answers its exchange with the same tokens
    const exchanges = reads.map(({ refreshes }) => refreshes);
    expect(Math.max(...exchanges)).toBe(1);

    expect(await call(tabs[1], "order", shop.bakery.id, shop.rollId)).toBe("ACCEPTED");

    const { owner } = shop.bakery;
    for (const name of ["Ржаной", "Чабатта"]) await addMenuItem(shop.bakery, { name });
    expect(await call(tabs[0], "logIn", owner.phone, code)).toBe(owner.phone);
    const names = (await call(tabs[0], "readNames")) as string[];
    expect(names.sort()).toEqual(["Багет", "Ржаной", "Чабатта"]);
    expect(complaints).toEqual([]);
  });

  test("resumes an upload that was cut, with its progress", async () => {
    const tab = await openTab();
    await call(tab, "logIn", newPhone(), code);
    const part = 8 * 1_048_576;
    const bytes = 2 * part + 1_000;
    const sizes = [0, part, part, 2 * part, bytes];
    expect(await call(tab, "upload", bytes)).toEqual({ failed: "offline", sizes, stored: bytes });
    expect(complaints).toEqual([]);
  });
});
