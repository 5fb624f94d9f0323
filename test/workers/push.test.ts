import { afterAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";
import { deliverPush } from "../../workers/push.js";
import { insertNotification, notificationStatus } from "../support/notifications.js";
import { task } from "../support/task.js";

afterAll(closeDatabase);

test("a notification is sent once, however often and however simultaneously its job runs", async () => {
  const notificationId = await insertNotification();
  const runs = [task({ notificationId }), task({ notificationId }), task({ notificationId })];
  await Promise.all(runs.map(deliverPush));
  expect(await notificationStatus(notificationId)).toEqual({ status: "SENT", reason: null });
  expect(runs.flatMap(({ lines }) => lines)).toMatchObject([{ notificationId, kind: "ORDER_ACCEPTED", msg: "push" }]);
});

test("a notification that is useless by now is dropped, and it says why", async () => {
  const notificationId = await insertNotification();
  await sql`update notifications set expires_at = now() where id = ${notificationId}::uuid`;
  const run = task({ notificationId });
  await deliverPush(run);
  expect(await notificationStatus(notificationId)).toEqual({ status: "DROPPED", reason: "expired" });
  expect(run.lines).toEqual([]);
});

test("a notification that is gone is nothing to do", async () => {
  const run = task({ notificationId: "01890000-0000-7000-8000-000000000000" });
  await deliverPush(run);
  expect(run.lines).toEqual([]);
});
