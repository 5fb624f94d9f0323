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

// these read the configuration
const { sql, transaction } = await import("../../sql/db.js");
const { lockPreferences } = await import("../../sql/queries/preferences.js");
const { deliverPush } = await import("../../workers/push.js");
const { user } = await import("../support/cast.js");
const { countWaiting } = await import("../support/hold.js");
const { notificationStatus } = await import("../support/notifications.js");

/** The jobs that go on with a notification. */
const waitingJobs = (notificationId: string) =>
  sql<{ runAt: Date }[]>`
    select run_at as "runAt" from staged_jobs
    where queue = 'push' and payload ->> 'notificationId' = ${notificationId} and done_at is null`;

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

describe("a change of quiet hours while a notification is snoozed", () => {
  const endThem = () =>
    recipient().client.put("/api/v1/users/me/notification-preferences", {
      quietHoursStart: "00:00:00",
      quietHoursEnd: "00:00:00",
    });

  test("comes before: the decision is made again", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const id = await notify();
    let run: ReturnType<typeof deliver> | undefined;
    await transaction(async (tx) => {
      await lockPreferences(tx, recipient().id);
      run = deliver(id);
      await until(async () => (await countWaiting()) > 0);
      await tx`update notification_preferences set quiet_hours_start = '00:00', quiet_hours_end = '00:00' where user_id = ${recipient().id}::uuid`;
    });
    expect(snoozedTo((await run)?.thrown)).toBeLessThanOrEqual(Date.now());
    expect(await waitingJobs(id)).toEqual([]);
    await deliver(id);
    expect(web.shown).toHaveLength(1);
  });

  test("comes at the same time: it waits, and then makes the job due", async () => {
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

  test("leaves jobs that wait for something else, and those of other users", async () => {
    await addBrowser();
    await prefer({ start: clock(-60), end: clock(90) });
    const [patient, foreign] = [await notify(), await notify()];
    const stranger = await user(api.client);
    await Promise.all([deliver(patient), deliver(foreign)]);
    await sql`update notifications set reason = 'the push service asks to wait' where id = ${patient}::uuid`;
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
  await sql`update users set timezone = 'Pacific/Kiritimati' where id = ${recipient().id}::uuid`;
  const id = await notify();
  await deliver(id);
  expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
});
