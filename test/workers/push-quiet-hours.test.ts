import { describe, expect, test } from "@jest/globals";
import {
  addBrowser,
  api,
  clock,
  deliver,
  notify,
  prefer,
  recipient,
  snoozedTo,
  web,
} from "../support/push/recipient.js";
import { task } from "../support/task.js";
import { until } from "../support/until.js";

// these modules read the configuration
const { sql, transaction } = await import("../../sql/db.js");
const { lockPreferences } = await import("../../sql/queries/preferences.js");
const { deliverPush } = await import("../../workers/push.js");
const { user } = await import("../support/cast.js");
const { countBlocked } = await import("../support/locks.js");
const { notificationStatus } = await import("../support/notifications.js");

/** The open jobs of a notification. */
const waitingJobs = (notificationId: string) =>
  sql<{ runAt: Date }[]>`
    select run_at as "runAt" from staged_jobs
    where queue = 'push' and payload ->> 'notificationId' = ${notificationId} and done_at is null`;

test("a notification waits for the end of quiet hours, to the second, and is then sent", async () => {
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
  // the user's quiet hours are over
  await prefer({});
  await deliver(id);
  expect(web.shown).toHaveLength(1);
  expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
});

describe("a change of quiet hours while a notification is being snoozed", () => {
  const endQuietHours = () =>
    recipient().client.put("/api/v1/users/me/notification-preferences", {
      quietHoursStart: "00:00:00",
      quietHoursEnd: "00:00:00",
    });

  test("that commits first makes the job decide again", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const id = await notify();
    let run: ReturnType<typeof deliver> | undefined;
    await transaction(async (tx) => {
      await lockPreferences(tx, recipient().id);
      run = deliver(id);
      await until(async () => (await countBlocked()) > 0);
      await tx`update notification_preferences set quiet_hours_start = '00:00', quiet_hours_end = '00:00' where user_id = ${recipient().id}::uuid`;
    });
    expect(snoozedTo((await run)?.thrown)).toBeLessThanOrEqual(Date.now());
    expect(await waitingJobs(id)).toEqual([]);
    await deliver(id);
    expect(web.shown).toHaveLength(1);
  });

  test("that is concurrent waits, and then makes the job due", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const id = await notify();
    let ended: ReturnType<typeof endQuietHours> | undefined;
    await deliverPush({
      ...task({ notificationId: id }),
      done: async () => {
        let over = false;
        ended = endQuietHours().finally(() => (over = true));
        await until(async () => over || (await countBlocked()) > 0);
      },
    });
    expect((await ended)?.status).toBe(200);
    const [job] = await waitingJobs(id);
    expect(job!.runAt.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test("does not affect jobs that wait for another reason, nor other users' jobs", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const [patient, foreign] = [await notify(), await notify()];
    const stranger = await user(api.client);
    await Promise.all([deliver(patient), deliver(foreign)]);
    await sql`update notifications set reason = 'the push service asks to wait' where id = ${patient}::uuid`;
    await sql`update notifications set user_id = ${stranger.id}::uuid where id = ${foreign}::uuid`;
    await endQuietHours();
    for (const id of [patient, foreign]) {
      const [job] = await waitingJobs(id);
      expect(job!.runAt.getTime()).toBeGreaterThan(Date.now() + 60 * 60_000);
    }
  });
});

test("quiet hours apply in the user's time zone", async () => {
  await addBrowser();
  await prefer({ start: clock(-60), end: clock(60) });
  await sql`update users set timezone = 'Pacific/Kiritimati' where id = ${recipient().id}::uuid`;
  const id = await notify();
  await deliver(id);
  expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
});
