import "../environment.js";
import { randomInt, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { parse } from "csv-parse/sync";
import { z } from "zod";
import { Caller } from "./http.js";
import { queueCounts } from "./queues.js";

/**
 * Plays a day on a running development service (`npm start`) through HTTP alone, and tells it. It can be run as often
 * as one likes: every run has its own bakery and its own customer.
 */

const base = process.env["PUBLIC_URL"] ?? `http://localhost:${process.env["PORT"] ?? "3000"}`;
const adminPhone = (process.env["ADMIN_PHONES"] ?? "+79990000000").split(",")[0] ?? "";
const code = process.env["OTP_FIXED_CODE"] ?? "000000";

const tell = (line: string) => process.stdout.write(`${line}\n`);
const newPhone = () => `+79${String(randomInt(1_000_000_000)).padStart(9, "0")}`;

const MenuRow = z.object({
  externalId: z.string(),
  name: z.string(),
  category: z.string(),
  price: z.coerce.number(),
  weightGrams: z.string().transform((grams) => (grams === "" ? undefined : Number(grams))),
  description: z.string().transform((text) => (text === "" ? undefined : text)),
});

const readMenu = async () =>
  z
    .array(MenuRow)
    .parse(parse(await readFile(new URL("./menu.ru.csv", import.meta.url)), { columns: true, bom: true }));

/** Asks again until what a worker does in the background is there to see; gives up after half a minute. */
async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within 30 seconds. Is a worker running?`);
}

const delivered = (caller: Caller, kind: string, orderId: unknown) =>
  until(`${kind} is delivered`, async () => {
    const { list } = await caller.call("GET", "/notifications");
    return list.find((each) => each["kind"] === kind && each["orderId"] === orderId && each["status"] === "SENT");
  });

async function play(): Promise<void> {
  const anyone = new Caller(base);
  tell(`A day at the marketplace on ${base}\n`);

  const admin = await anyone.signIn(adminPhone, code);
  tell(`08:00  The admin signs in with ${adminPhone} and a one-time code.`);

  const ownerPhone = newPhone();
  const registered = await anyone.call("POST", "/partners/register", {
    name: "Булочная на углу",
    cityId: "moscow",
    address: "Тверская улица, 1",
    latitude: 55.7575,
    longitude: 37.6135,
    phone: ownerPhone,
  });
  const { id: partnerId, slug } = registered.body;
  tell(
    `08:30  A bakery registers with its owner's phone: ${String(registered.body["status"])}, its slug is ${String(slug)}.`,
  );
  const approved = await admin.call("PUT", `/admin/partners/${String(partnerId)}/approve`);
  tell(`09:00  The admin approves it: ${String(approved.body["status"])}.`);

  const owner = await anyone.signIn(ownerPhone, code);
  const menu = await readMenu();
  const items: string[] = [];
  for (const row of menu) items.push(String((await owner.call("POST", "/menu/items", row)).body["id"]));
  const categories = await owner.call("GET", "/menu/categories");
  tell(`09:15  The owner signs in and enters the menu: ${items.length} items in ${categories.list.length} categories.`);

  const hour = 3_600_000;
  const box = await owner.call("POST", "/boxes", {
    title: "Вечерний набор выпечки",
    price: 249.9,
    originalPrice: 520,
    quantity: 5,
    pickupWindowStart: new Date(Date.now() + hour).toISOString(),
    pickupWindowEnd: new Date(Date.now() + 3 * hour).toISOString(),
    items: items.slice(3, 6).map((menuItemId) => ({ menuItemId, qty: 1 })),
  });
  tell(
    `17:00  What was baked too much goes into boxes: ${String(box.body["quantityAvailable"])} × 249.90, to be picked up tonight.`,
  );

  const customer = await anyone.signIn(newPhone(), code);
  const seen = await anyone.call("GET", `/boxes/${String(box.body["id"])}`);
  tell(`17:20  A customer signs in and looks at “${String(seen.body["title"])}”.`);

  const key = { "Idempotency-Key": randomUUID() };
  const wish = { items: [{ menuItemId: box.body["id"], qty: 2 }], totalAmount: 499.8, partnerId, address: "Арбат, 10" };
  const order = await customer.call("POST", "/orders", wish, [201], key);
  const { orderId } = order.body;
  tell(
    `17:21  The customer orders two: ${String(order.body["status"])}, ${String(order.body["amountDue"])} to pay, pickup code ${String(order.body["pickupCode"])}.`,
  );
  const again = await customer.call("POST", "/orders", wish, [409], key);
  tell(
    `17:21  The phone loses the answer and orders again under the same key: ${String(again.body["code"])}, it is still order ${String(again.body["orderId"])}.`,
  );
  if (again.body["orderId"] !== orderId) throw new Error("one key made two orders");
  const left = await anyone.call("GET", `/boxes/${String(box.body["id"])}`);
  tell(`       ${String(left.body["quantityAvailable"])} boxes are left.`);

  await delivered(customer, "ORDER_ACCEPTED", orderId);
  await delivered(owner, "NEW_ORDER", orderId);
  tell(`17:22  A worker has told the customer (ORDER_ACCEPTED) and the bakery (NEW_ORDER).`);

  const counts = await queueCounts(base);
  tell(`18:00  On the dashboard (${base}/admin/queues) the admin sees the jobs:`);
  for (const { queue, completed, failed, waiting } of counts) {
    tell(
      `       ${queue.padEnd(10)} ${String(completed).padStart(5)} done  ${String(waiting).padStart(3)} waiting  ${String(failed).padStart(3)} failed`,
    );
  }
  tell(`\nEverything that happened is described at ${base}/docs.`);
}

await play().catch((error: unknown) => {
  const reason =
    error instanceof Error
      ? error.cause instanceof Error
        ? `${error.message} (${error.cause.message})`
        : error.message
      : String(error);
  process.stderr.write(
    `\nThe day ends early: ${reason}\nThe demo needs a development service: run \`npm start\` in another terminal.\n`,
  );
  process.exitCode = 1;
});
