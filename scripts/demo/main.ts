import "../environment.js";
import { randomInt, randomUUID } from "node:crypto";
import sharp from "sharp";
import {
  approvePartner,
  changeNotificationPreferences,
  createBox,
  done,
  listMenuCategories,
  listMenuItems,
  listNotifications,
  placeOrder,
  readBox,
  registerDevice,
  registerPartner,
  upload,
} from "../client/src/index.js";
import { findService } from "./address.js";
import { Caller, until } from "./http.js";
import { importElsewhere, sendMenu } from "./menus.js";
import { connectTill } from "./pos.js";
import { listenInBrowser } from "./push.js";
import { queueCounts } from "./queues.js";
import { signInAgain } from "./tokens.js";

/**
 * Plays a day on a running development service (`npm start`) over HTTP alone, and prints each step. It can be run
 * repeatedly: every run registers its own bakery and customer.
 */

const adminPhone = (process.env["ADMIN_PHONES"] ?? "+79990000000").split(",")[0] ?? "";
const code = process.env["OTP_FIXED_CODE"] ?? "000000";

const print = (line: string) => process.stdout.write(`${line}\n`);
const newPhone = () => `+79${String(randomInt(1_000_000_000)).padStart(9, "0")}`;

/** A photo as a phone takes it: large, rotated, and with the place where it was taken. */
const takePicture = async () => {
  const bytes = new Uint8Array(
    await sharp({ create: { width: 3_000, height: 4_000, channels: 3, background: "#c98b3f" } })
      .jpeg()
      .withExif({ IFD3: { GPSLatitudeRef: "N", GPSLatitude: "55/1 45/1 27/1" } })
      .withMetadata({ orientation: 6 })
      .toBuffer(),
  );
  return new Blob([bytes], { type: "image/jpeg" });
};

const delivered = ({ session }: Caller, kind: string, orderId: string) =>
  until(`${kind} is delivered`, async () => {
    const list = await done(listNotifications({}, session));
    return list.find((each) => each.kind === kind && each.orderId === orderId && each.status === "SENT");
  });

/** Registers a device without quiet hours, since a day here takes seconds. */
async function withPhone(caller: Caller): Promise<Caller> {
  const device = { platform: "android" as const, pushToken: `demo:${randomUUID()}` };
  await done(registerDevice({ body: device }, caller.session));
  const quietHours = { quietHoursStart: "00:00:00", quietHoursEnd: "00:00:00" };
  await done(changeNotificationPreferences({ body: quietHours }, caller.session));
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
  const bakery = {
    name: "Булочная на углу",
    cityId: "moscow",
    address: "Тверская улица, 1",
    latitude: 55.7575,
    longitude: 37.6135,
    phone: ownerPhone,
    timezone: zone,
  };
  const registered = await done(registerPartner({ body: bakery }, anyone.session));
  const partnerId = registered.id;
  print(`08:30  A bakery registers with its owner's phone: ${registered.status}, its slug is ${registered.slug}.`);
  const approved = await done(approvePartner({ id: partnerId }, admin.session));
  print(`09:00  The admin approves it: ${approved.status}.`);

  const owner = await withPhone(await anyone.signIn(ownerPhone, code));
  const imported = await sendMenu(owner, "bakery.ru.csv");
  const items = await done(listMenuItems({}, owner.session));
  const categories = await done(listMenuCategories({}, owner.session));
  print(
    `09:15  The owner signs in and sends the menu as CSV: ${imported.created} items in ${categories.length} categories.`,
  );
  const repeated = await sendMenu(owner, "bakery.ru.csv");
  print(`09:16  Sent again, it creates no item and updates all ${repeated.updated}.`);

  await importElsewhere({ anyone, admin, code, newPhone, print });

  const { fileId, width, height, size } = await upload(await takePicture(), owner.session);
  print(
    `16:55  A photograph of 3000 × 4000 pixels, taken with the phone on its side, is converted to an upright one of ${String(width)} × ${String(height)}, ${Math.ceil(size / 1_024)} KB, without the GPS position.`,
  );

  const offer = {
    title: "Вечерний набор выпечки",
    price: 249.9,
    originalPrice: 520,
    quantity: 5,
    pickupWindowStart: at(18, 30),
    pickupWindowEnd: at(20, 30),
    imageFileId: fileId,
    items: items.slice(3, 6).map(({ id }) => ({ menuItemId: id, qty: 1 })),
  };
  const box = await done(createBox({ body: offer }, owner.session));
  print(
    `17:00  The bakery offers what it has left in boxes: ${box.quantityAvailable} × 249.90, to be picked up from 18:30 to 20:30.`,
  );

  const customer = await withPhone(await anyone.signIn(newPhone(), code));
  const seen = await done(readBox({ id: box.id }, anyone.session));
  print(`17:20  A customer signs in and looks at “${seen.title}”, ${String(seen.imageUrl)}`);

  const idempotencyKey = randomUUID();
  const wish = { items: [{ menuItemId: box.id, qty: 2 }], totalAmount: 499.8, partnerId, address: "Арбат, 10" };
  const order = await done(placeOrder({ idempotencyKey, body: wish }, customer.session));
  const { orderId } = order;
  print(`17:21  The customer orders two: ${order.status}, ${order.amountDue} to pay, pickup code ${order.pickupCode}.`);
  const again = await placeOrder({ idempotencyKey, body: wish }, customer.session);
  if (again.status !== 409 || again.data.reason !== "DUPLICATE" || again.data.orderId !== orderId)
    throw new Error("one key made two orders");
  print(
    `17:21  The phone loses the response and orders again under the same key: ${again.data.code}, it is still order ${orderId}.`,
  );
  const left = await done(readBox({ id: box.id }, anyone.session));
  print(`       ${left.quantityAvailable} boxes are left.`);

  await delivered(customer, "ORDER_ACCEPTED", orderId);
  await delivered(owner, "NEW_ORDER", orderId);
  print(`17:22  A worker has notified the customer (ORDER_ACCEPTED) and the bakery (NEW_ORDER).`);

  await connectTill({ anyone, admin, owner, partnerId, print, until });
  await listenInBrowser({ customer, partnerId, boxId: box.id, price: 249.9, print, until });

  const counts = await queueCounts(base);
  print(`18:00  On the dashboard (${base}/admin/queues) the admin sees the jobs:`);
  for (const { queue, completed, failed, waiting } of counts) {
    print(
      `       ${queue.padEnd(14)} ${String(completed).padStart(5)} done  ${String(waiting).padStart(3)} waiting  ${String(failed).padStart(3)} failed`,
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
