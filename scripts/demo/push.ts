import { z } from "zod";
import {
  changeNotificationPreferences,
  changeProfile,
  deleteDevice,
  done,
  listNotifications,
  placeOrderOnce,
  readWebPushKey,
  registerDevice,
} from "../client/src/index.js";
import { openBrowser } from "./browser.js";
import type { Caller } from "./http.js";

/** The client that takes part, and the demo's helpers. */
export interface Scene {
  customer: Caller;
  partnerId: string;
  boxId: string;
  price: number;
  print: (line: string) => void;
  until: <T>(what: string, look: () => Promise<T | undefined>) => Promise<T>;
}

const Shown = z.object({ title: z.string(), body: z.string() });

const seconds = (count: number) =>
  new Date(Date.now() + count * 1_000).toLocaleTimeString("sv-SE", { timeZone: "Europe/Moscow" });

/** Subscribes the customer's browser, receives a message in it, and defers another one by quiet hours. */
export async function listenInBrowser({ customer, partnerId, boxId, price, print, until }: Scene): Promise<void> {
  const { session } = customer;
  const key = await readWebPushKey({}, session);
  if (key.status === 404) {
    print(`17:40  (The service has no key for Web Push: \`npm run keys\` makes one.)`);
    return;
  }
  const browser = await openBrowser();
  const order = async () => {
    const wish = { items: [{ menuItemId: boxId, qty: 1 }], totalAmount: price, partnerId };
    const { orderId } = await placeOrderOnce(wish, session);
    return (status: string) =>
      until(`the message is ${status}`, async () => {
        const list = await done(listNotifications({}, session));
        return list.find((each) => each.orderId === orderId && each.status === status);
      });
  };
  try {
    const device = { platform: "web" as const, pushToken: browser.pushToken, locale: "en-GB" };
    const subscribed = await registerDevice({ body: device }, session);
    if (subscribed.status === 400) {
      print(`17:40  (The service accepts no browser on this machine: ALLOW_PRIVATE_ADDRESSES is not set.)`);
      return;
    }
    const { id } = await done(Promise.resolve(subscribed));
    print(`17:40  The customer subscribes in a browser, with the service's key, and orders one more.`);
    const becomes = await order();
    await becomes("SENT");
    const [message] = browser.shown;
    const { title, body } = Shown.parse(JSON.parse(message ?? "{}"));
    print(`       The browser decrypts the message, which only it can read: ${title}. ${body}`);

    const [quietHoursStart, quietHoursEnd] = [seconds(-60), seconds(15)];
    await done(changeProfile({ body: { timezone: "Europe/Moscow" } }, session));
    await done(changeNotificationPreferences({ body: { quietHoursStart, quietHoursEnd } }, session));
    const shown = () => browser.shown.length;
    const comes = await order();
    await comes("DEFERRED");
    if (shown() !== 1) throw new Error("quiet hours were not kept");
    print(
      `17:45  The customer orders one more in quiet hours, which end in some seconds. The message is deferred until then…`,
    );
    await comes("SENT");
    if (shown() !== 2) throw new Error("the deferred message was not shown after the quiet hours");
    print("       … and is shown when they end. The inbox has every message:");
    const list = await done(listNotifications({ unread: "true" }, session));
    for (const { status, title, body: text } of list.slice(0, 3)) print(`       ${status.padEnd(9)} ${title}: ${text}`);
    // the browser is about to close, and reminders would only fail
    await done(deleteDevice({ id }, session));
  } finally {
    browser.close();
  }
}
