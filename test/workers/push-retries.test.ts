import { describe, expect, test } from "@jest/globals";
import { waitAfter } from "../../lib/domain/notification-rules.js";
import type { Reaction } from "../support/push/service.js";
import { fcmRefusals } from "../support/push/fcm.js";
import {
  addBrowser,
  addPhone,
  clock,
  deliver,
  deliveries,
  deviceIds,
  fcm,
  notify,
  prefer,
  snoozedTo,
  web,
} from "../support/push/recipient.js";

// these modules read the configuration
const { push } = await import("../../queues/index.js");
const { sql } = await import("../../sql/db.js");
const { registry } = await import("../../workers/metrics.js");
const { notificationStatus } = await import("../support/notifications.js");

describe("a push service that refuses the service's own key", () => {
  const alarms = async () => {
    const { values } = await registry.getSingleMetric("push_messages_total")!.get();
    return values.find(({ labels }) => labels["service"] === "fcm" && labels["result"] === "unauthorized")?.value ?? 0;
  };

  test("is logged as an error and deletes no device, and the message is retried", async () => {
    const phone = await addPhone();
    const id = await notify();
    const before = await alarms();
    fcm.answerWith(fcmRefusals.permissionDenied);
    const { thrown, lines } = await deliver(id);
    expect(thrown).toBeInstanceOf(Error);
    const reason = thrown instanceof Error ? thrown.message : "";
    expect(reason).toContain("403");
    expect(lines).toMatchObject([{ level: 50, service: "fcm", reason }]);
    expect(await alarms()).toBe(before + 1);
    expect(await deviceIds()).toEqual([phone]);
    expect(await notificationStatus(id)).toMatchObject({ status: "QUEUED" });

    fcm.answerWith(fcmRefusals.permissionDenied);
    expect((await deliver(id, push.attempts)).thrown).toBeInstanceOf(Error);
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason });
    await deliver(id);
    expect(fcm.received).toHaveLength(1);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  });
});

describe("a server that a client names as its push service", () => {
  test("raises no alarm by refusing the service's own key", async () => {
    await addBrowser();
    const id = await notify();
    web.answerWith({ status: 403 });
    const { thrown, lines } = await deliver(id);
    expect(thrown).toBeNull();
    expect(lines).toMatchObject([{ level: 40, reason: "the push service answered 403" }]);
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "the push service answered 403" });
  });

  test("raises no alarm by never accepting a message: its job never fails, and ends after 20 calls", async () => {
    await addBrowser();
    const id = await notify();
    web.answerWith(...Array.from({ length: 30 }, () => ({ status: 503 })));
    const calls = web.attempts();
    for (let n = 1; n < 20; n += 1) {
      const before = Date.now();
      expect(snoozedTo((await deliver(id, push.attempts)).thrown)).toBeGreaterThan(before + 59_000);
      expect(await notificationStatus(id)).toMatchObject({ status: "DEFERRED" });
    }
    expect((await deliver(id)).thrown).toBeNull();
    expect(web.attempts() - calls).toBe(20);
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "the push service answered 503" });
  });

  test("does not hide that a known one does not accept the service's own key", async () => {
    await Promise.all([addBrowser(), addPhone()]);
    const id = await notify();
    web.answerWith({ status: 503 });
    fcm.answerWith(fcmRefusals.permissionDenied);
    expect((await deliver(id)).thrown).toBeInstanceOf(Error);
    expect(await notificationStatus(id)).toMatchObject({ status: "QUEUED" });
  });
});

describe("a known push service that fails and names no time", () => {
  test("gets the message when it works again: the job waits longer after each call, and never fails", async () => {
    await addPhone();
    const id = await notify();
    fcm.answerWith(...Array.from({ length: 25 }, () => fcmRefusals.unavailable()));
    for (let n = 1; n <= 25; n += 1) {
      const before = Date.now();
      const until = snoozedTo((await deliver(id, push.attempts)).thrown);
      expect(until).toBeGreaterThanOrEqual(before + waitAfter(n) * 1_000);
      expect(await notificationStatus(id)).toMatchObject({ status: "DEFERRED" });
    }
    expect((await deliver(id)).thrown).toBeNull();
    expect(fcm.received).toHaveLength(1);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  });

  test("gets no message that is of no use any more when it works again", async () => {
    await addPhone();
    const id = await notify();
    fcm.answerWith(fcmRefusals.unavailable());
    snoozedTo((await deliver(id)).thrown);
    await sql`update notifications set expires_at = now() where id = ${id}::uuid`;
    expect((await deliver(id)).thrown).toBeNull();
    expect(fcm.received).toEqual([]);
    expect(await notificationStatus(id)).toEqual({ status: "DROPPED", reason: "expired" });
  });

  test("gets no message in quiet hours that have begun meanwhile", async () => {
    await addPhone();
    const id = await notify();
    await sql`update notifications set expires_at = now() + interval '3 hours' where id = ${id}::uuid`;
    fcm.answerWith(fcmRefusals.unavailable());
    snoozedTo((await deliver(id)).thrown);
    await prefer({ start: clock(-60), end: clock(60) });
    expect((await deliver(id)).thrown).toBeNull();
    expect(fcm.received).toEqual([]);
    expect(await notificationStatus(id)).toEqual({ status: "DEFERRED", reason: "quiet hours" });
  });
});

describe("a push service that asks to wait", () => {
  test("is given the longest wait that a device got; the other devices get their message", async () => {
    const [browser, phone] = [await addBrowser(), await addPhone()];
    const other = await addBrowser();
    const id = await notify();
    web.answerWith({ status: 429, headers: { "retry-after": "120" } }, { status: 201 });
    fcm.answerWith(fcmRefusals.unavailable("900"));
    const before = Date.now();
    const until = snoozedTo((await deliver(id)).thrown);
    expect(until).toBeGreaterThan(before + 899_000);
    expect(until).toBeLessThan(Date.now() + 901_000);
    expect(await notificationStatus(id)).toEqual({ status: "DEFERRED", reason: "the push service asks to wait" });
    expect(web.shown).toHaveLength(1);

    expect((await deliver(id)).thrown).toBeNull();
    expect([web.shown.length, fcm.received.length]).toEqual([2, 1]);
    expect((await deliveries(id)).map(({ attempts }) => attempts).toSorted()).toEqual([1, 2, 2]);
    expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
    expect(await deviceIds()).toEqual([browser, phone, other].toSorted());
  });

  test("for longer than the message is valid is not retried", async () => {
    await addBrowser();
    const id = await notify();
    await sql`update notifications set expires_at = now() + interval '1 minute' where id = ${id}::uuid`;
    web.answerWith({ status: 429, headers: { "retry-after": "120" } });
    expect((await deliver(id)).thrown).toBeNull();
    expect(await notificationStatus(id)).toEqual({ status: "FAILED", reason: "the push service answered 429" });
  });

  test("forever is retried a limited number of times", async () => {
    await addBrowser();
    const id = await notify();
    const reactions: Reaction[] = Array.from({ length: 30 }, () => ({ status: 429, headers: { "retry-after": "0" } }));
    web.answerWith(...reactions);
    const before = web.attempts();
    let runs = 0;
    for (let thrown: unknown = true; thrown !== null && runs < 30; runs += 1) ({ thrown } = await deliver(id));
    expect(web.attempts() - before).toBe(20);
    expect(await notificationStatus(id)).toMatchObject({ status: "FAILED" });
  });
});
