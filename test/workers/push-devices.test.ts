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

// these modules read the configuration
const { sql } = await import("../../sql/db.js");
const { user } = await import("../support/cast.js");
const { notificationStatus } = await import("../support/notifications.js");

describe("only devices that no longer exist are deleted", () => {
  test("a browser that ended its subscription, and a phone without the app", async () => {
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

  test("when no device is left the notification is dropped", async () => {
    await addPhone();
    fcm.answerWith(fcmRefusals.invalidToken);
    const id = await notify();
    await deliver(id);
    expect(await deviceIds()).toEqual([]);
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason: "no device" });
  });

  test("a refused message keeps the device", async () => {
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

  test("by another user does not get the first user's message, which is not retried for it", async () => {
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
    // now it is her device, and gets her messages
    const [hers] = await sql<{ id: string }[]>`
      insert into notifications (user_id, kind) values (${berta.id}::uuid, 'ORDER_ACCEPTED') returning id`;
    await sql`
      insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
      values (${berta.id}::uuid, true, true, true, false, '00:00', '00:00')`;
    await deliver(hers!.id);
    expect(fcm.received).toHaveLength(1);
  });

  test("after its deletion does not get the message again under its new id", async () => {
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
    "gets a message that it had not received when it was %s",
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

  test("does not delay the notification when it was deleted for good", async () => {
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
