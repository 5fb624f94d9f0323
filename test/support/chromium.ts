import { existsSync } from "node:fs";
import { describe } from "@jest/globals";
import { chromium, type Browser, type BrowserContext } from "playwright-core";

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

/** A suite that needs a browser; without one it is reported as skipped. */
export const describeWithChromium: (name: string, suite: () => void) => void = (name, suite) =>
  executablePath === undefined ? describe.skip(`${name} (no Chromium on this machine)`, suite) : describe(name, suite);

/** Starts the machine's Chromium with a new profile and without background traffic. */
export const startChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: executablePath ?? "",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** Opens a page, and collects what its users would not see: its errors, and its requests to other hosts than `address`. */
export async function openPage(context: BrowserContext, address: string) {
  const page = await context.newPage();
  // far beyond what a slow machine needs, and before that of the test, so that a failure names what was waited for
  page.setDefaultTimeout(180_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  context.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) complaints.push(request.url());
  });
  return { page, complaints };
}
