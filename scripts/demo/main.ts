import "../environment.js";
import { randomInt, randomUUID } from "node:crypto";
import sharp from "sharp";
import { usage } from "../command.js";
import { findService } from "./address.js";
import { Caller, until } from "./http.js";
import { importElsewhere, readMenu } from "./menus.js";
import { connectTill } from "./pos.js";
import { listenInBrowser } from "./push.js";
import { queueCounts } from "./queues.js";
import { signInAgain } from "./tokens.js";

/**
 * Plays a day on a running development service (`npm start`) over HTTP alone, and prints each step. It can be run
 * repeatedly: every run registers its own bakery and customer.
 */

if (process.argv.length > 2) {
  process.stderr.write(`${usage}\n`);
  process.exit(1);
}

const adminPhone = (process.env["ADMIN_PHONES"] ?? "+79990000000").split(",")[0] ?? "";
const code = process.env["OTP_FIXED_CODE"] ?? "000000";

const print = (line: string) => process.stdout.write(`${line}\n`);
const newPhone = () => `+79${String(randomInt(1_000_000_000)).padStart(9, "0")}`;

/** A photo as a phone takes it: large, rotated, and with the place where it was taken. */
const takePicture = async () => ({
  bytes: new Uint8Array(
    await sharp({ create: { width: 3_000, height: 4_000, channels: 3, background: "#c98b3f" } })
      .jpeg()
      .withExif({ IFD3: { GPSLatitudeRef: "N", GPSLatitude: "55/1 45/1 27/1" } })
      .withMetadata({ orientation: 6 })
      .toBuffer(),
  ),
  type: "image/jpeg",
});

const delivered = (caller: Caller, kind: string, orderId: unknown) =>
  until(`${kind} is delivered`, async () => {
    const { list } = await caller.call("GET", "/notifications");
    return list.find((each) => each["kind"] === kind && each["orderId"] === orderId && each["status"] === "SENT");
  });

/** Registers a device without quiet hours, since a day here takes seconds. */
async function withPhone(caller: Caller): Promise<Caller> {
  await caller.call("POST", "/notifications/devices", { platform: "android", pushToken: `demo:${randomUUID()}` });
  const quietHours = { quietHoursStart: "00:00:00", quietHoursEnd: "00:00:00" };
  await caller.call("PUT", "/users/me/notification-preferences", quietHours);
  return caller;
}

const minute = 60_000;

/**
 * A time zone where it is now between five and six in the afternoon, and the times of that afternoon. The demo's clock
 * times are made up; in this zone the service's messages show the same ones.
 */
function lateAfternoon(now: Date): { zone: string; at: (hours: number, minutes: number) => string } {
  const ahead = ((17 - now.getUTCHours() + 35) % 24) - 11;
  const five = now.getTime() - (now.getTime() % (60 * minute));
  return {
    // these names have the opposite sign: Etc/GMT-3 is UTC+3
    zone: `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`,
    at: (hours, minutes) => new Date(five + ((hours - 17) * 60 + minutes) * minute).toISOString(),
  };
}

async function play(): Promise<void> {
  const base = await findService();
  const { zone, at } = lateAfternoon(new Date());
  const anyone = new Caller(base);
  print(`A day at the marketplace on ${base}\n`);

  const { caller: admin, by } = await signInAgain(anyone, adminPhone, code);
  print(
    `08:00  The admin, ${adminPhone}, ${by === "a code" ? "signs in with a one-time code" : "is still signed in from an earlier day"}.`,
  );

  const ownerPhone = newPhone();
  const registered = await anyone.call("POST", "/partners/register", {
    name: "Булочная на углу",
    cityId: "moscow",
    address: "Тверская улица, 1",
    latitude: 55.7575,
    longitude: 37.6135,
    phone: ownerPhone,
    timezone: zone,
  });
  const { id: partnerId, slug } = registered.body;
  print(
    `08:30  A bakery registers with its owner's phone: ${String(registered.body["status"])}, its slug is ${String(slug)}.`,
  );
  const approved = await admin.call("PUT", `/admin/partners/${String(partnerId)}/approve`);
  print(`09:00  The admin approves it: ${String(approved.body["status"])}.`);

  const owner = await withPhone(await anyone.signIn(ownerPhone, code));
  const menu = await readMenu("bakery.ru.csv");
  const imported = await owner.upload("/menu/import/csv", menu);
  const { list: items } = await owner.call("GET", "/menu/items");
  const categories = await owner.call("GET", "/menu/categories");
  print(
    `09:15  The owner signs in and sends the menu as CSV: ${String(imported.body["created"])} items in ${categories.list.length} categories.`,
  );
  const repeated = await owner.upload("/menu/import/csv", menu);
  print(`09:16  Sent again, it creates no item and updates all ${String(repeated.body["updated"])}.`);

  await importElsewhere({ anyone, admin, code, newPhone, print });

  const picture = await owner.upload("/files/upload", await takePicture());
  const { fileId, width, height, size } = picture.body;
  print(
    `16:55  A photograph of 3000 × 4000 pixels, taken with the phone on its side, is converted to an upright one of ${String(width)} × ${String(height)}, ${Math.ceil(Number(size) / 1_024)} KB, without the GPS position.`,
  );

  const box = await owner.call("POST", "/boxes", {
    title: "Вечерний набор выпечки",
    price: 249.9,
    originalPrice: 520,
    quantity: 5,
    pickupWindowStart: at(18, 30),
    pickupWindowEnd: at(20, 30),
    imageFileId: fileId,
    items: items.slice(3, 6).map(({ id }) => ({ menuItemId: id, qty: 1 })),
  });
  print(
    `17:00  The bakery offers what it has left in boxes: ${String(box.body["quantityAvailable"])} × 249.90, to be picked up from 18:30 to 20:30.`,
  );

  const customer = await withPhone(await anyone.signIn(newPhone(), code));
  const seen = await anyone.call("GET", `/boxes/${String(box.body["id"])}`);
  print(`17:20  A customer signs in and looks at “${String(seen.body["title"])}”, ${String(seen.body["imageUrl"])}`);

  const key = { "Idempotency-Key": randomUUID() };
  const wish = { items: [{ menuItemId: box.body["id"], qty: 2 }], totalAmount: 499.8, partnerId, address: "Арбат, 10" };
  const order = await customer.call("POST", "/orders", wish, [201], key);
  const { orderId } = order.body;
  print(
    `17:21  The customer orders two: ${String(order.body["status"])}, ${String(order.body["amountDue"])} to pay, pickup code ${String(order.body["pickupCode"])}.`,
  );
  const again = await customer.call("POST", "/orders", wish, [409], key);
  print(
    `17:21  The phone loses the response and orders again under the same key: ${String(again.body["code"])}, it is still order ${String(again.body["orderId"])}.`,
  );
  if (again.body["orderId"] !== orderId) throw new Error("one key made two orders");
  const left = await anyone.call("GET", `/boxes/${String(box.body["id"])}`);
  print(`       ${String(left.body["quantityAvailable"])} boxes are left.`);

  await delivered(customer, "ORDER_ACCEPTED", orderId);
  await delivered(owner, "NEW_ORDER", orderId);
  print(`17:22  A worker has notified the customer (ORDER_ACCEPTED) and the bakery (NEW_ORDER).`);

  await connectTill({ anyone, admin, owner, partnerId: String(partnerId), print, until });
  const boxId = String(box.body["id"]);
  await listenInBrowser({ customer, partnerId: String(partnerId), boxId, price: 249.9, print, until });

  const counts = await queueCounts(base);
  print(`18:00  On the dashboard (${base}/admin/queues) the admin sees the jobs:`);
  for (const { queue, completed, failed, waiting } of counts) {
    print(
      `       ${queue.padEnd(12)} ${String(completed).padStart(5)} done  ${String(waiting).padStart(3)} waiting  ${String(failed).padStart(3)} failed`,
    );
  }
  print(`\nThe day is over. ${base}/docs describes every endpoint.`);
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
