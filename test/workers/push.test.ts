import { describe, expect, jest, test } from "@jest/globals";
import { push } from "../../queues/index.js";
import type { JobRun } from "../../sql/outbox.js";
import { fcmRefusals } from "../support/push/fcm.js";
import {
  addBrowser,
  addPhone,
  api,
  clock,
  deliver,
  deliveries,
  fcm,
  insertDevice,
  notify,
  prefer,
  recipient,
  snoozedTo,
  vapid,
  web,
} from "../support/push/recipient.js";

// these modules read the configuration
const { LONGEST_SEND_MS } = await import("../../lib/messaging/push-sender.js");
const { sql, transaction } = await import("../../sql/db.js");
const { findJob, stageJob } = await import("../../sql/outbox.js");
const { deliverPush } = await import("../../workers/push.js");
const { bakery, listBox, user } = await import("../support/cast.js");
const { notificationStatus } = await import("../support/notifications.js");
const { task } = await import("../support/task.js");

describe("a notification is sent to each device", () => {
  test("in that device's language, with the order's details", async () => {
    const shop = await bakery(api.client);
    const boxId = await listBox(shop, { price: 10 });
    const customer = await user(api.client);
    const placed = await customer.client.post("/api/v1/orders", {
      items: [{ menuItemId: boxId, qty: 2 }],
      totalAmount: 20,
      partnerId: shop.id,
    });
    const orderId = placed.string("orderId");
    await Promise.all([addBrowser("ru-RU"), addPhone("en-US")]);
    await sql`insert into partner_staff (user_id, partner_id) values (${recipient().id}::uuid, ${shop.id}::uuid)`;
    const id = await notify("NEW_ORDER", { orderId, partnerId: shop.id });
    expect((await deliver(id)).thrown).toBeNull();
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
    expect(web.shown).toMatchObject([
      {
        title: "Новый заказ",
        data: { orderId, partnerId: shop.id, notificationId: id, kind: "NEW_ORDER" },
        urgency: "high",
      },
    ]);
    expect(web.shown[0]?.body.replace(/\s/g, " ")).toBe("2 позиции на 20 ₽.");
    expect(fcm.received).toMatchObject([{ notification: { title: "New order" }, data: { orderId } }]);
    // until the pickup window ends, in two to three hours
    expect(web.shown[0]?.ttl).toBeGreaterThan(2 * 3_600);
    expect(web.shown[0]?.ttl).toBeLessThanOrEqual(3 * 3_600);
  });

  test("once, however often and concurrently its job runs", async () => {
    await Promise.all([addBrowser(), addPhone(), addPhone()]);
    const id = await notify();
    await Promise.all([deliver(id), deliver(id), deliver(id)]);
    await deliver(id);
    expect([web.shown.length, fcm.received.length]).toEqual([1, 2]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
    expect(await deliveries(id)).toHaveLength(3);
  });

  test("in one statement with the end of its job, which is not waited for while a transaction has locked it", async () => {
    await addBrowser();
    const stageRun = async (notificationId: string): Promise<JobRun> => {
      const jobId = await stageJob(sql, push, { notificationId });
      const [run] = await sql<JobRun[]>`select id::text, generation from staged_jobs where id = ${jobId}::bigint`;
      return run!;
    };
    /** Delivers a new notification as the job of this row; returns whether that ended the job, too. */
    const deliverWithJob = async (id: string, run: JobRun) => {
      const completed = jest.fn();
      await deliverPush({ ...task({ notificationId: id }), job: { run, completed } });
      expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
      expect(completed).toHaveBeenCalledTimes((await findJob(sql, run.id))?.doneAt ? 1 : 0);
      return completed.mock.calls.length === 1;
    };
    const [free, locked] = [await notify(), await notify()];
    expect(await deliverWithJob(free, await stageRun(free))).toBe(true);
    const run = await stageRun(locked);
    await transaction(async (tx) => {
      await tx`select from staged_jobs where id = ${run.id}::bigint for update`;
      expect(await deliverWithJob(locked, run)).toBe(false);
    });
    const other = await notify();
    const { id, generation } = await stageRun(other);
    expect(await deliverWithJob(other, { id, generation: generation + 1 })).toBe(false);
  });

  test("once, when a run was interrupted while sending: the outcome is then unknown", async () => {
    const browser = await addBrowser();
    const id = await notify();
    await sql`
      insert into notification_deliveries (notification_id, device_id, platform, address_digest, started_at)
      select ${id}::uuid, id, platform, address_digest, now() - interval '1 minute' from devices where id = ${browser}::uuid`;
    await deliver(id);
    await deliver(id);
    expect(web.shown).toEqual([]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: "cut short while it was sent" });
    expect(await deliveries(id)).toMatchObject([{ status: "UNKNOWN" }]);
  });

  test("once, when a run was interrupted while sending, and the notification is of no use any more", async () => {
    const browser = await addBrowser();
    const id = await notify();
    await sql`
      insert into notification_deliveries (notification_id, device_id, platform, address_digest)
      select ${id}::uuid, id, platform, address_digest from devices where id = ${browser}::uuid`;
    await prefer({ push: false });
    // that run may still be sending it
    snoozedTo((await deliver(id)).thrown);
    expect(await deliveries(id)).toMatchObject([{ status: "SENDING" }]);
    await sql`update notification_deliveries set started_at = now() - interval '1 minute' where notification_id = ${id}::uuid`;
    expect((await deliver(id)).thrown).toBeNull();
    expect(web.shown).toEqual([]);
    expect(await deliveries(id)).toMatchObject([{ status: "UNKNOWN", reason: "cut short while it was sent" }]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: "cut short while it was sent" });
  });

  test("once, while another run is still sending: this one waits", async () => {
    const [browser] = [await addBrowser(), await addPhone()];
    const id = await notify();
    await sql`
      insert into notification_deliveries (notification_id, device_id, platform, address_digest)
      select ${id}::uuid, id, platform, address_digest from devices where id = ${browser}::uuid`;
    snoozedTo((await deliver(id)).thrown);
    expect([web.shown.length, fcm.received.length]).toEqual([0, 1]);
    expect(await notificationStatus(id)).toMatchObject({ status: "QUEUED" });
  });

  test("once, while another run waits for an access token and then for a response", async () => {
    const phone = await addPhone();
    const id = await notify();
    const startedAt = new Date(Date.now() - LONGEST_SEND_MS - 1_000);
    await sql`
      insert into notification_deliveries (notification_id, device_id, platform, address_digest, started_at)
      select ${id}::uuid, id, platform, address_digest, ${startedAt} from devices where id = ${phone}::uuid`;
    const until = snoozedTo((await deliver(id)).thrown);
    expect(until - startedAt.getTime()).toBe(LONGEST_SEND_MS + 5_000);
    expect(fcm.received).toEqual([]);
    expect(await deliveries(id)).toMatchObject([{ status: "SENDING" }]);
  });

  test("also when another device has invalid keys or an invalid address", async () => {
    const { address, keys } = web.subscribe(vapid.VAPID_PUBLIC_KEY);
    const keyless = await insertDevice({ address, keys: { ...keys, p256dh: "none" } });
    const lost = await insertDevice({ address: `nowhere ${keyless}`, keys });
    const fine = [await addBrowser(), await addPhone()];
    const id = await notify();
    expect((await deliver(id)).thrown).toBeNull();
    expect([web.shown.length, fcm.received.length]).toEqual([1, 1]);
    const found = await deliveries(id);
    expect(new Map(found.map(({ deviceId, status }) => [deviceId, status]))).toEqual(
      new Map([[keyless, "FAILED"], [lost, "UNKNOWN"], ...fine.map((device) => [device, "SENT"] as const)]),
    );
  });

  test("once, when the push service does not respond", async () => {
    await addBrowser();
    const id = await notify();
    web.answerWith("drop");
    expect((await deliver(id)).thrown).toBeNull();
    await deliver(id);
    expect(web.shown).toHaveLength(1);
    const settled = await notificationStatus(id);
    expect(settled?.status).toBe("SENT");
    expect(settled?.reason).toMatch(/^no answer from the push service/);
  });
});

describe("a notification is dropped with a reason", () => {
  test.each([
    ["when pushes are off", () => prefer({ push: false }), "push is off"],
    [
      "when pushes are switched off in quiet hours",
      () => prefer({ push: false, start: clock(-60), end: clock(60) }),
      "push is off",
    ],
    [
      "when it expires before quiet hours end",
      () => prefer({ start: clock(-60), end: clock(-120) }),
      "expires in quiet hours",
    ],
  ])("%s", async (_case, arrange, reason) => {
    await addBrowser();
    await arrange();
    const id = await notify();
    await sql`update notifications set expires_at = now() + interval '3 hours' where id = ${id}::uuid`;
    expect((await deliver(id)).thrown).toBeNull();
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason });
    expect(web.shown).toEqual([]);
    expect(await deliveries(id)).toEqual([]);
  });

  test("when it has expired", async () => {
    await addBrowser();
    const id = await notify();
    await sql`update notifications set expires_at = now() where id = ${id}::uuid`;
    await deliver(id);
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason: "expired" });
  });

  test("when its user has no device", async () => {
    const id = await notify();
    await deliver(id);
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason: "no device" });
  });

  test("when its box is sold out", async () => {
    await addBrowser();
    await prefer({ marketing: true });
    const shop = await bakery(api.client);
    const boxId = await listBox(shop);
    const first = await notify("BOX_BACK", { boxId, partnerId: shop.id });
    await deliver(first);
    expect(web.shown).toMatchObject([{ title: "Снова в наличии", data: { boxId } }]);
    await sql`update boxes set status = 'SOLD_OUT', quantity_available = 0 where id = ${boxId}::uuid`;
    const second = await notify("BOX_BACK", { boxId, partnerId: shop.id });
    await deliver(second);
    expect(await notificationStatus(second)).toEqual({ status: "DROPPED", reason: "the box is not on offer" });
  });

  test("but one that was partly sent stays sent", async () => {
    await Promise.all([addBrowser(), addPhone()]);
    const id = await notify();
    fcm.answerWith(fcmRefusals.unavailable("30"));
    await deliver(id);
    await prefer({ push: false });
    await deliver(id);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  });
});

test("no log line holds an address or a text", async () => {
  await Promise.all([addBrowser(), addPhone()]);
  web.answerWith({ status: 400 });
  fcm.answerWith(fcmRefusals.senderIdMismatch);
  const { lines } = await deliver(await notify());
  expect(lines.length).toBeGreaterThan(0);
  expect(JSON.stringify(lines)).not.toMatch(/phone:|http:|ждёт/);
});

test("a notification of an unknown kind fails, and its job is completed", async () => {
  await addBrowser();
  const id = await notify("SOMETHING_NEW");
  expect((await deliver(id)).thrown).toBeNull();
  expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "the kind is unknown" });
});

test("an unknown notification leaves nothing to do", async () => {
  const { thrown, lines } = await deliver("01890000-0000-7000-8000-000000000000");
  expect({ thrown, lines }).toEqual({ thrown: null, lines: [] });
});
