import { afterAll, afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { newVapidKeys } from "../../lib/process/push-keys.js";
import type { Character } from "../support/cast.js";
import type { Told } from "../support/push/service.js";
import { fcmRefusals, startFcm } from "../support/push/fcm.js";
import { startWebPush } from "../support/push/web-push.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

const [web, fcm] = [await startWebPush(), await startFcm()];
const vapid = newVapidKeys();
Object.assign(process.env, vapid, {
  ALLOW_PRIVATE_ADDRESSES: "1",
  FCM_URL: fcm.url,
  FCM_SERVICE_ACCOUNT: fcm.serviceAccount,
});

// these read the configuration
const { Snooze } = await import("../../lib/process/errors.js");
const { LONGEST_SEND_MS } = await import("../../lib/messaging/push-sender.js");
const { sha256 } = await import("../../lib/security/crypto.js");
const { push } = await import("../../queues/index.js");
const { closeDatabase, sql, transaction } = await import("../../sql/db.js");
const { lockPreferences } = await import("../../sql/queries/preferences.js");
const { registry } = await import("../../workers/metrics.js");
const { deliverPush } = await import("../../workers/push.js");
const { startApi } = await import("../support/api.js");
const { bakery, listBox, user } = await import("../support/cast.js");
const { countWaiting } = await import("../support/hold.js");
const { notificationStatus } = await import("../support/notifications.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await closeDatabase();
  await Promise.all([web.stop(), fcm.stop()]);
});

let anna: Character;
let recipient: string;

beforeEach(async () => {
  anna = await user(api.client);
  recipient = anna.id;
  await prefer({});
});

afterEach(() => {
  web.shown.length = 0;
  fcm.received.length = 0;
  web.answerWith();
  fcm.answerWith();
});

/** Preferences of the recipient, who has no quiet hours unless they are given. */
async function prefer({ push = true, marketing = false, start = "00:00", end = "00:00" }): Promise<void> {
  await sql`
    insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
    values (${recipient}::uuid, ${push}, true, true, ${marketing}, ${start}::text::time, ${end}::text::time)
    on conflict (user_id) do update set
      push = excluded.push, marketing = excluded.marketing,
      quiet_hours_start = excluded.quiet_hours_start, quiet_hours_end = excluded.quiet_hours_end`;
}

const clock = (minutes: number) =>
  new Date(Date.now() + minutes * 60_000).toLocaleTimeString("sv-SE", { timeZone: "Europe/Moscow" });

async function insertDevice(
  device: { address: string; keys: { p256dh: string; auth: string } | null },
  locale = "ru-RU",
): Promise<string> {
  const { address, keys } = device;
  const [row] = await sql<{ id: string }[]>`
    insert into devices (user_id, platform, address, address_digest, p256dh, auth, locale)
    values (
      ${recipient}::uuid, ${keys ? "web" : "ios"}::device_platform, ${address}, ${sha256(address)},
      ${keys?.p256dh ?? null}, ${keys?.auth ?? null}, ${locale}
    )
    returning id`;
  return row!.id;
}

const addBrowser = (locale?: string) => insertDevice(web.subscribe(vapid.VAPID_PUBLIC_KEY), locale);
let phones = 0;
const addPhone = (locale?: string) =>
  insertDevice({ address: `phone:${(phones += 1)}-of-this-test`, keys: null }, locale);

/** A notification of the recipient that nobody has tried to deliver. */
async function notify(kind = "ORDER_ACCEPTED", about: { orderId?: string; partnerId?: string; boxId?: string } = {}) {
  const [row] = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id, box_id)
    values (
      ${recipient}::uuid, ${kind}, ${about.orderId ?? null}::uuid, ${about.partnerId ?? null}::uuid,
      ${about.boxId ?? null}::uuid
    )
    returning id`;
  return row!.id;
}

const deviceIds = async () =>
  (await sql<{ id: string }[]>`select id from devices where user_id = ${recipient}::uuid order by id`).map(
    ({ id }) => id,
  );

const deliveries = (notificationId: string) =>
  sql<{ deviceId: string; status: string; reason: string | null; attempts: number }[]>`
    select device_id as "deviceId", status::text, reason, attempts
    from notification_deliveries
    where notification_id = ${notificationId}::uuid
    order by device_id`;

/** Runs a job; answers what it threw, and what it logged. */
async function deliver(notificationId: string, attempt = 1) {
  const run = { ...task({ notificationId }), attempt };
  const thrown = await deliverPush(run).then(
    () => null,
    (error: unknown) => error,
  );
  return { thrown, lines: run.lines };
}

/** The jobs that go on with a notification. */
const waitingJobs = (notificationId: string) =>
  sql<{ runAt: Date }[]>`
    select run_at as "runAt" from staged_jobs
    where queue = 'push' and payload ->> 'notificationId' = ${notificationId} and done_at is null`;

const snoozedTo = (thrown: unknown): number => {
  if (thrown instanceof Snooze) return thrown.until.getTime();
  throw new Error(`not snoozed: ${String(thrown)}`);
};

describe("a notification reaches each device", () => {
  test("in that device's language, with what the order is about", async () => {
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
    await sql`insert into partner_staff (user_id, partner_id) values (${recipient}::uuid, ${shop.id}::uuid)`;
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
    // until the pickup is over, in two to three hours
    expect(web.shown[0]?.ttl).toBeGreaterThan(2 * 3_600);
    expect(web.shown[0]?.ttl).toBeLessThanOrEqual(3 * 3_600);
  });

  test("once, however often and however simultaneously its job runs", async () => {
    await Promise.all([addBrowser(), addPhone(), addPhone()]);
    const id = await notify();
    await Promise.all([deliver(id), deliver(id), deliver(id)]);
    await deliver(id);
    expect([web.shown.length, fcm.received.length]).toEqual([1, 2]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
    expect(await deliveries(id)).toHaveLength(3);
  });

  test("once, when it was cut short while it was sent: then nobody knows", async () => {
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

  test("once, while another run waits for an access token and then an answer", async () => {
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

  test("also where another device's keys or address are none", async () => {
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

  test("once, when no answer came", async () => {
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

describe("a notification is dropped, and says why", () => {
  test.each([
    ["its user wants no messages", () => prefer({ push: false }), "push is off"],
    [
      "its user wants none by now, although they were let in before",
      () => prefer({ push: false, start: clock(-60), end: clock(60) }),
      "push is off",
    ],
    [
      "it is useless before quiet hours end",
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

  test("it has expired", async () => {
    await addBrowser();
    const id = await notify();
    await sql`update notifications set expires_at = now() where id = ${id}::uuid`;
    await deliver(id);
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason: "expired" });
  });

  test("its user has no device", async () => {
    const id = await notify();
    await deliver(id);
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason: "no device" });
  });

  test("a box is sold out by now", async () => {
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

  test("but one that was sent before stays sent", async () => {
    await Promise.all([addBrowser(), addPhone()]);
    const id = await notify();
    fcm.answerWith(fcmRefusals.unavailable("30"));
    await deliver(id);
    await prefer({ push: false });
    await deliver(id);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  });
});

test("in quiet hours a notification waits for their end, to the second, and is sent then", async () => {
  await addBrowser();
  const end = Date.now() + 90 * 60_000;
  await prefer({ start: clock(-60), end: clock(90) });
  const id = await notify();
  expect((await deliver(id)).thrown).toBeNull();
  const [job, ...others] = await waitingJobs(id);
  expect(Math.abs(job!.runAt.getTime() - end)).toBeLessThan(2_000);
  expect(others).toEqual([]);
  expect(await notificationStatus(id)).toEqual({ status: "DEFERRED", reason: "quiet hours" });
  expect(web.shown).toEqual([]);
  // the hours are over, as far as the user is concerned
  await prefer({});
  await deliver(id);
  expect(web.shown).toHaveLength(1);
  expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
});

describe("whoever changes quiet hours while a message is put off", () => {
  const endThem = () =>
    anna.client.put("/api/v1/users/me/notification-preferences", {
      quietHoursStart: "00:00:00",
      quietHoursEnd: "00:00:00",
    });

  test("before it waits, has it decided over again", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const id = await notify();
    let run: ReturnType<typeof deliver> | undefined;
    await transaction(async (tx) => {
      await lockPreferences(tx, recipient);
      run = deliver(id);
      await until(async () => (await countWaiting()) > 0);
      await tx`update notification_preferences set quiet_hours_start = '00:00', quiet_hours_end = '00:00' where user_id = ${recipient}::uuid`;
    });
    expect(snoozedTo((await run)?.thrown)).toBeLessThanOrEqual(Date.now());
    expect(await waitingJobs(id)).toEqual([]);
    await deliver(id);
    expect(web.shown).toHaveLength(1);
  });

  test("while it does, waits for it and has it decided over again", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const id = await notify();
    let ended: ReturnType<typeof endThem> | undefined;
    await deliverPush({
      ...task({ notificationId: id }),
      done: async () => {
        let over = false;
        ended = endThem().finally(() => (over = true));
        await until(async () => over || (await countWaiting()) > 0);
      },
    });
    expect((await ended)?.status).toBe(200);
    const [job] = await waitingJobs(id);
    expect(job!.runAt.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test("hurries nothing that waits for something else, or for somebody else", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const [patient, foreign] = [await notify(), await notify()];
    const stranger = await user(api.client);
    await Promise.all([deliver(patient), deliver(foreign)]);
    await sql`update notifications set reason = 'the push service asks for patience' where id = ${patient}::uuid`;
    await sql`update notifications set user_id = ${stranger.id}::uuid where id = ${foreign}::uuid`;
    await endThem();
    for (const id of [patient, foreign]) {
      const [job] = await waitingJobs(id);
      expect(job!.runAt.getTime()).toBeGreaterThan(Date.now() + 60 * 60_000);
    }
  });
});

test("quiet hours are those of the user's own zone", async () => {
  await addBrowser();
  await prefer({ start: clock(-60), end: clock(60) });
  await sql`update users set timezone = 'Pacific/Kiritimati' where id = ${recipient}::uuid`;
  const id = await notify();
  await deliver(id);
  expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
});

describe("devices that are gone are forgotten, and only those", () => {
  test("a browser that ended its subscription, a phone without the app", async () => {
    const [browser, gone, phone] = [await addBrowser(), await addBrowser(), await addPhone()];
    const uninstalled = await addPhone();
    web.answerWith({ status: 201 });
    const id = await notify();
    const [first] = await sql<{ address: string }[]>`select address from devices where id = ${gone}::uuid`;
    web.unsubscribe(first!.address);
    await sql`delete from devices where id = ${phone}::uuid`;
    fcm.answerWith(fcmRefusals.unregistered);
    await deliver(id);
    expect(await deviceIds()).toEqual([browser]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
    expect((await deliveries(id)).map(({ deviceId, status }) => [deviceId, status])).toEqual(
      [
        [browser, "SENT"],
        [gone, "GONE"],
        [uninstalled, "GONE"],
      ].toSorted(),
    );
  });

  test("when none is left the notification is dropped", async () => {
    await addPhone();
    fcm.answerWith(fcmRefusals.invalidToken);
    const id = await notify();
    await deliver(id);
    expect(await deviceIds()).toEqual([]);
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason: "no device" });
  });

  test("a message that is refused costs nobody their device", async () => {
    const phone = await addPhone();
    fcm.answerWith(fcmRefusals.invalidField);
    const id = await notify();
    expect((await deliver(id)).thrown).toBeNull();
    expect(await deviceIds()).toEqual([phone]);
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "FCM answered 400 INVALID_ARGUMENT" });
  });
});

describe("a device that is registered again while a message waits", () => {
  const register = async ({ client }: Character, pushToken = "phone:that-comes-and-goes") =>
    (await client.post("/api/v1/notifications/devices", { pushToken, platform: "android" })).string("id");
  const forget = ({ client }: Character, id: string) => client.delete(`/api/v1/notifications/devices/${id}`);

  test("by somebody else does not get what was for another, and nothing is tried for it any more", async () => {
    const berta = await user(api.client);
    await addBrowser();
    const shared = await register(anna);
    const id = await notify();
    fcm.answerWith(fcmRefusals.unavailable("30"));
    snoozedTo((await deliver(id)).thrown);
    expect(await register(berta)).toBe(shared);

    expect((await deliver(id)).thrown).toBeNull();
    expect([web.shown.length, fcm.received.length]).toEqual([1, 0]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
    expect(await deliveries(id)).toEqual(
      expect.arrayContaining([
        { deviceId: shared, status: "GONE", reason: "no longer a device of this user", attempts: 1 },
      ]),
    );
    // it is hers by now, and reaches her
    const [hers] = await sql<{ id: string }[]>`
      insert into notifications (user_id, kind) values (${berta.id}::uuid, 'ORDER_ACCEPTED') returning id`;
    await sql`
      insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
      values (${berta.id}::uuid, true, true, true, false, '00:00', '00:00')`;
    await deliver(hers!.id);
    expect(fcm.received).toHaveLength(1);
  });

  test("after it was forgotten has the message once, although its id is another", async () => {
    await addBrowser();
    const before = await register(anna);
    const id = await notify();
    web.answerWith({ status: 429, headers: { "retry-after": "30" } });
    snoozedTo((await deliver(id)).thrown);
    expect(fcm.received).toHaveLength(1);
    await forget(anna, before);
    const again = await register(anna);
    expect(again).not.toBe(before);

    expect((await deliver(id)).thrown).toBeNull();
    expect([web.shown.length, fcm.received.length]).toEqual([1, 1]);
    expect((await deliveries(id)).map(({ deviceId }) => deviceId)).not.toContain(again);
  });

  test.each(["forgotten by its user", "forgotten by us"])(
    "has the message that it had not, when it was %s",
    async (how) => {
      await addBrowser();
      const before = await register(anna);
      const id = await notify();
      web.answerWith({ status: 429, headers: { "retry-after": "30" } });
      fcm.answerWith(how === "forgotten by us" ? fcmRefusals.unregistered : fcmRefusals.unavailable("30"));
      snoozedTo((await deliver(id)).thrown);
      await forget(anna, before);
      const again = await register(anna);

      expect((await deliver(id)).thrown).toBeNull();
      expect([web.shown.length, fcm.received.length]).toEqual([1, 1]);
      expect((await deliveries(id)).map(({ deviceId, status }) => [deviceId, status])).toContainEqual([again, "SENT"]);
    },
  );

  test("but is forgotten for good, holds nothing up", async () => {
    await addBrowser();
    const phone = await register(anna);
    const id = await notify();
    fcm.answerWith(fcmRefusals.unavailable("30"));
    snoozedTo((await deliver(id)).thrown);
    await forget(anna, phone);
    expect((await deliver(id)).thrown).toBeNull();
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  });
});

describe("our own key at fault", () => {
  const alarms = async () => {
    const { values } = await registry.getSingleMetric("push_messages_total")!.get();
    return (
      values.find(({ labels }) => labels["service"] === "web-push" && labels["result"] === "unauthorized")?.value ?? 0
    );
  };

  test("is told to an operator, forgets nobody, and is tried again once it is mended", async () => {
    const browser = await addBrowser();
    const id = await notify();
    const before = await alarms();
    web.answerWith({ status: 403 });
    const { thrown, lines } = await deliver(id);
    expect(thrown).toEqual(new Error("the push service answered 403"));
    expect(lines).toMatchObject([{ level: 50, service: "web-push", reason: "the push service answered 403" }]);
    expect(await alarms()).toBe(before + 1);
    expect(await deviceIds()).toEqual([browser]);
    expect(await notificationStatus(id)).toMatchObject({ status: "QUEUED" });

    web.answerWith({ status: 403 });
    expect((await deliver(id, push.attempts)).thrown).toBeInstanceOf(Error);
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "the push service answered 403" });
    await deliver(id);
    expect(web.shown).toHaveLength(1);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  });
});

describe("a push service that asks for patience", () => {
  test("is given as much as it asks for, by the device that waits longest; the others have their message", async () => {
    const [browser, phone] = [await addBrowser(), await addPhone()];
    const other = await addBrowser();
    const id = await notify();
    web.answerWith({ status: 429, headers: { "retry-after": "120" } }, { status: 201 });
    fcm.answerWith(fcmRefusals.unavailable("900"));
    const before = Date.now();
    const until = snoozedTo((await deliver(id)).thrown);
    expect(until).toBeGreaterThan(before + 899_000);
    expect(until).toBeLessThan(Date.now() + 901_000);
    expect(await notificationStatus(id)).toEqual({ status: "DEFERRED", reason: "the push service asks for patience" });
    expect(web.shown).toHaveLength(1);

    expect((await deliver(id)).thrown).toBeNull();
    expect([web.shown.length, fcm.received.length]).toEqual([2, 1]);
    expect((await deliveries(id)).map(({ attempts }) => attempts).toSorted()).toEqual([1, 2, 2]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
    expect(await deviceIds()).toEqual([browser, phone, other].toSorted());
  });

  test("and says nothing of how much is tried again by the job's own rhythm, and in the end the job is kept", async () => {
    await addBrowser();
    const id = await notify();
    web.answerWith({ status: 503 }, { status: 503 });
    expect((await deliver(id)).thrown).toEqual(new Error("the push service answered 503"));
    expect(await notificationStatus(id)).toMatchObject({ status: "QUEUED" });
    expect((await deliver(id, push.attempts)).thrown).toEqual(new Error("the push service answered 503"));
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "the push service answered 503" });
  });

  test("for longer than the message is of use is not asked again", async () => {
    await addBrowser();
    const id = await notify();
    await sql`update notifications set expires_at = now() + interval '1 minute' where id = ${id}::uuid`;
    web.answerWith({ status: 429, headers: { "retry-after": "120" } });
    expect((await deliver(id)).thrown).toBeNull();
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "the push service answered 429" });
  });

  test("without end is not asked without end", async () => {
    await addBrowser();
    const id = await notify();
    const told: Told[] = Array.from({ length: 30 }, () => ({ status: 429, headers: { "retry-after": "0" } }));
    web.answerWith(...told);
    const before = web.attempts();
    let runs = 0;
    for (let thrown: unknown = true; thrown !== null && runs < 30; runs += 1) ({ thrown } = await deliver(id));
    expect(web.attempts() - before).toBe(20);
    expect(await notificationStatus(id)).toMatchObject({ status: "FAILED" });
  });
});

test("no log line tells of an address or a text", async () => {
  await Promise.all([addBrowser(), addPhone()]);
  web.answerWith({ status: 400 });
  fcm.answerWith(fcmRefusals.senderIdMismatch);
  const { lines } = await deliver(await notify());
  expect(lines.length).toBeGreaterThan(0);
  expect(JSON.stringify(lines)).not.toMatch(/phone:|http:|ждёт/);
});

test("a notification of a kind that nobody knows fails, and its job with it is over", async () => {
  await addBrowser();
  const id = await notify("SOMETHING_NEW");
  expect((await deliver(id)).thrown).toBeNull();
  expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "there is no such announcement" });
});

test("a notification that is gone is nothing to do", async () => {
  const { thrown, lines } = await deliver("01890000-0000-7000-8000-000000000000");
  expect({ thrown, lines }).toEqual({ thrown: null, lines: [] });
});
