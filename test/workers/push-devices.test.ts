import { describe, expect, test } from "@jest/globals";
import type { Character } from "../support/cast.js";
import { fcmRefusals } from "../support/push/fcm.js";
import {
  addBrowser,
  addPhone,
  api,
  deliver,
  deliveries,
  deviceIds,
  fcm,
  notify,
  recipient,
  snoozedTo,
  web,
} from "../support/push/recipient.js";

// these read the configuration
const { sql } = await import("../../sql/db.js");
const { user } = await import("../support/cast.js");
const { notificationStatus } = await import("../support/notifications.js");

describe("devices that are gone are deleted, and only those", () => {
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

  test("a message that is refused leaves the device", async () => {
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
    const shared = await register(recipient());
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
    const before = await register(recipient());
    const id = await notify();
    web.answerWith({ status: 429, headers: { "retry-after": "30" } });
    snoozedTo((await deliver(id)).thrown);
    expect(fcm.received).toHaveLength(1);
    await forget(recipient(), before);
    const again = await register(recipient());
    expect(again).not.toBe(before);

    expect((await deliver(id)).thrown).toBeNull();
    expect([web.shown.length, fcm.received.length]).toEqual([1, 1]);
    expect((await deliveries(id)).map(({ deviceId }) => deviceId)).not.toContain(again);
  });

  test.each(["forgotten by its user", "forgotten by us"])(
    "has the message that it had not, when it was %s",
    async (how) => {
      await addBrowser();
      const before = await register(recipient());
      const id = await notify();
      web.answerWith({ status: 429, headers: { "retry-after": "30" } });
      fcm.answerWith(how === "forgotten by us" ? fcmRefusals.unregistered : fcmRefusals.unavailable("30"));
      snoozedTo((await deliver(id)).thrown);
      await forget(recipient(), before);
      const again = await register(recipient());

      expect((await deliver(id)).thrown).toBeNull();
      expect([web.shown.length, fcm.received.length]).toEqual([1, 1]);
      expect((await deliveries(id)).map(({ deviceId, status }) => [deviceId, status])).toContainEqual([again, "SENT"]);
    },
  );

  test("but is forgotten for good, holds nothing up", async () => {
    await addBrowser();
    const phone = await register(recipient());
    const id = await notify();
    fcm.answerWith(fcmRefusals.unavailable("30"));
    snoozedTo((await deliver(id)).thrown);
    await forget(recipient(), phone);
    expect((await deliver(id)).thrown).toBeNull();
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  });
});
