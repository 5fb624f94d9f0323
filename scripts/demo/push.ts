import { z } from "zod";
import { openBrowser } from "./browser.js";
import type { Caller } from "./http.js";

/** Who takes part, and what the day has for telling it. */
export interface Scene {
  customer: Caller;
  partnerId: string;
  boxId: string;
  price: number;
  tell: (line: string) => void;
  until: <T>(what: string, look: () => Promise<T | undefined>) => Promise<T>;
}

const Shown = z.object({ title: z.string(), body: z.string() });

const seconds = (count: number) =>
  new Date(Date.now() + count * 1_000).toLocaleTimeString("sv-SE", { timeZone: "Europe/Moscow" });

/** The customer lets a browser tell of orders too, and then wants to hear nothing for some seconds. */
export async function listenInBrowser({ customer, partnerId, boxId, price, tell, until }: Scene): Promise<void> {
  const key = await customer.call("GET", "/notifications/vapid-public-key", undefined, [200, 404]);
  if (key.status === 404) {
    tell(`17:40  (The service has no key for Web Push: \`npm run keys\` makes one.)`);
    return;
  }
  const browser = await openBrowser();
  const order = async () => {
    const wish = { items: [{ menuItemId: boxId, qty: 1 }], totalAmount: price, partnerId };
    const placed = await customer.call("POST", "/orders", wish);
    return (status: string) =>
      until(`the message is ${status}`, async () => {
        const { list } = await customer.call("GET", "/notifications");
        return list.find((each) => each["orderId"] === placed.body["orderId"] && each["status"] === status);
      });
  };
  try {
    const device = { platform: "web", pushToken: browser.pushToken, locale: "en-GB" };
    const subscribed = await customer.call("POST", "/notifications/devices", device, [201, 400]);
    if (subscribed.status === 400) {
      tell(`17:40  (The service takes no browser on this machine: ALLOW_PRIVATE_ADDRESSES is not set.)`);
      return;
    }
    tell(`17:40  The customer subscribes in a browser, with the service's key, and orders one more.`);
    const becomes = await order();
    await becomes("SENT");
    const [message] = browser.shown;
    const { title, body } = Shown.parse(JSON.parse(message ?? "{}"));
    tell(`       The browser opens the message, which nobody on the way can read: ${title}. ${body}`);

    const [quietHoursStart, quietHoursEnd] = [seconds(-60), seconds(15)];
    await customer.call("PUT", "/users/me", { timezone: "Europe/Moscow" });
    await customer.call("PUT", "/users/me/notification-preferences", { quietHoursStart, quietHoursEnd });
    const shown = () => browser.shown.length;
    const comes = await order();
    await comes("DEFERRED");
    if (shown() !== 1) throw new Error("quiet hours were not kept");
    tell(`17:45  In quiet hours, which end in some seconds, one more order is told of, but not shown before they do…`);
    await comes("SENT");
    if (shown() !== 2) throw new Error("what came in quiet hours was not shown when they ended");
    tell("       … and then it is. The inbox has it all:");
    const { list } = await customer.call("GET", "/notifications?unread=true");
    for (const each of list.slice(0, 3))
      tell(`       ${String(each["status"]).padEnd(9)} ${String(each["title"])}: ${String(each["body"])}`);
    // the browser is about to go, and reminders would look for it in vain
    await customer.call("DELETE", `/notifications/devices/${String(subscribed.body["id"])}`);
  } finally {
    browser.close();
  }
}
