import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "@jest/globals";
import { startProxy } from "../support/proxy.js";

const proxy = await startProxy(process.env["DATABASE_URL"] ?? "");
Object.assign(process.env, { DATABASE_URL: proxy.url, DATABASE_TIMEOUT_MS: "3000" });

// these modules read the configuration
const { addBrowser, deliver, deliveries, notify, web } = await import("../support/push/recipient.js");
const { sql } = await import("../../sql/db.js");
const { claimDeliveries, updateDeliveries } = await import("../../sql/queries/deliveries.js");
const { notificationStatus } = await import("../support/notifications.js");

afterAll(() => proxy.close());

test("a message is sent once, and counted once, when the answer to its claim was lost", async () => {
  const browser = await addBrowser();
  const id = await notify();
  // a parameter of the claim: before the first use of a statement, its text is sent without being run
  proxy.loseAnswerTo("cut short while it was sent");
  expect((await deliver(id)).thrown).toBeNull();
  expect(web.shown).toHaveLength(1);
  expect(await notificationStatus(id)).toEqual({ status: "SENT", reason: null });
  expect(await deliveries(id)).toEqual([{ deviceId: browser, status: "SENT", reason: null, attempts: 1 }]);
});

test("a claim can be repeated by its own run, however late, until the run stores a result", async () => {
  const browser = await addBrowser();
  const id = await notify();
  const [own, other] = [randomUUID(), randomUUID()];
  const claim = async (token: string) =>
    (await claimDeliveries(sql, [{ notificationId: id, token }], 20)).flatMap(({ claimed }) =>
      claimed.map((device) => device.id),
    );
  expect(await claim(own)).toEqual([browser]);
  expect(await claim(other)).toEqual([]);
  await sql`update notification_deliveries set started_at = now() - interval '1 minute' where notification_id = ${id}::uuid`;
  expect(await claim(own)).toEqual([browser]);
  expect(await deliveries(id)).toMatchObject([{ status: "SENDING", attempts: 1 }]);

  const result = { deviceId: browser, reason: "the push service answered 503", called: true };
  await updateDeliveries(sql, [
    { notificationId: id, results: [{ ...result, status: "LATER" }], settlement: null, job: null },
  ]);
  // a statement of this run that arrives late claims nothing for it
  expect(await claim(own)).toEqual([]);
  expect(await claim(other)).toEqual([browser]);
  expect(await deliveries(id)).toMatchObject([{ status: "SENDING", attempts: 2 }]);
});
