import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { push } from "../../queues/index.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { newPhone } from "../support/cast.js";
import { countBlocked, lockRows } from "../support/locks.js";
import { insertNotification, notificationStatus } from "../support/notifications.js";
import { countSends, prepareService, type Program, type Service } from "../support/programs.js";
import {
  waitForNotifications,
  listNotifications,
  openShop,
  orderRoll,
  orderRolls,
  type Shop,
} from "../support/shop.js";
import { until } from "../support/until.js";

/** A worker's interrupted work: one job of each kind, at each place where an interruption could show. */
interface Work {
  /** The order whose recipients are being written. */
  orderId: string;
  /** A notification just before it is sent. */
  unsent: string;
  /** A notification that was sent and is not marked so yet. */
  unsettled: string;
  /** Lets all jobs continue. */
  release: () => Promise<void>;
}

/** The service with interrupted processes, on the broker that the test file has configured. */
export function describeCrashes(broker: string): void {
  describe(`interrupted processes, with BullMQ on ${broker}`, () => {
    let service: Service;
    let shop: Shop;

    beforeAll(async () => {
      service = await prepareService();
      await service.api.start();
      shop = await openShop(service.client);
    });

    beforeEach(async () => {
      await sql`truncate staged_jobs`;
    });

    afterEach(async () => {
      expect(service.crashes).toEqual([]);
      await Promise.all(service.workers.map((worker) => worker.kill()));
    });

    afterAll(async () => {
      await service.stop();
      await closeDatabase();
    });

    const lockNotification = (id: string) =>
      lockRows((tx) => tx`select from notifications where id = ${id}::uuid for update`);

    /** Starts a worker and waits until it is in the middle of its jobs. */
    async function busy(worker: Program): Promise<Work> {
      const [orderId] = await orderRolls(shop, 1);
      const [unsent, unsettled] = [await insertNotification(), await insertNotification()];
      const releaseOrder = await lockRows((tx) => tx`select from orders where id = ${orderId!}::uuid for update`);
      const [releaseUnsent, letSend] = [await lockNotification(unsent), await lockNotification(unsettled)];
      const jobId = await stageJob(sql, push, { notificationId: unsettled });
      await worker.start();
      await until(async () => (await countBlocked()) === 2);
      // now, so that the two do not share a statement
      await stageJob(sql, push, { notificationId: unsent });
      const releaseSettling = await lockRows(
        (tx) => tx`select from staged_jobs where id = ${jobId}::bigint for update`,
      );
      await letSend();
      await until(() => countSends([worker], unsettled) === 1);
      await until(async () => (await countBlocked()) === 3);
      return {
        orderId: orderId!,
        unsent,
        unsettled,
        release: async () => {
          await Promise.all([releaseOrder(), releaseUnsent(), releaseSettling()]);
        },
      };
    }

    async function expectOneEffect({ orderId, unsent, unsettled }: Work): Promise<void> {
      await waitForNotifications(shop, [orderId]);
      const ids = [unsent, unsettled, ...(await listNotifications([orderId])).map(({ id }) => id)];
      for (const id of ids) {
        expect(await notificationStatus(id)).toMatchObject({ status: "SENT" });
        for (const worker of service.workers) expect(countSends([worker], id)).toBeLessThanOrEqual(1);
      }
    }

    test("another worker takes over the jobs of a killed one, and each takes effect once", async () => {
      const [first, second] = service.workers;
      const work = await busy(first);
      await first.kill();
      await work.release();
      await second.start();
      await expectOneEffect(work);
    });

    test("jobs of a worker suspended past its lock take effect once, also when it resumes", async () => {
      const [first, second] = service.workers;
      const work = await busy(first);
      const thaw = first.freeze();
      await work.release();
      await second.start();
      await waitForNotifications(shop, [work.orderId]);
      thaw();
      await second.kill();
      await waitForNotifications(shop, [work.orderId, ...(await orderRolls(shop, 5))]);
      await expectOneEffect(work);
    });

    test("an API killed while writing leaves each write complete with its jobs, or not at all", async () => {
      const newShop = await openShop(service.client);
      const phone = newPhone();
      const release = await lockRows((tx) => tx`lock table staged_jobs`);
      const answers = Promise.allSettled([orderRoll(newShop), service.client.post("/api/v1/auth/otp/send", { phone })]);
      await until(async () => (await countBlocked()) === 2);
      await service.api.kill();
      await release();
      expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);

      const { orders, codes } = await transaction(async (tx) => {
        // waits until the interrupted statements have ended
        await tx`lock table orders, otp in share mode`;
        return {
          orders: await tx<{ id: string }[]>`select id from orders where user_id = ${newShop.customer.id}::uuid`,
          codes: await tx<{ id: string }[]>`select id from otp where phone = ${phone}`,
        };
      });
      const jobs = await sql<{ id: string }[]>`
        select coalesce(payload ->> 'subjectId', payload ->> 'otpId') as id
        from staged_jobs
        where queue in ('fan-out', 'sms')`;
      expect(jobs.map(({ id }) => id).toSorted()).toEqual([...orders, ...codes].map(({ id }) => id).toSorted());
      await service.api.start();
    });

    test("an API killed after its responses: the jobs of every accepted order run", async () => {
      const [worker] = service.workers;
      const orderIds: string[] = [];
      await Promise.allSettled(
        Array.from({ length: 20 }, async () => {
          const reply = await orderRoll(shop);
          orderIds.push(reply.string("orderId"));
          await service.api.kill();
        }),
      );
      expect(orderIds.length).toBeGreaterThan(0);
      await worker.start();
      await waitForNotifications(shop, orderIds);
      await service.api.start();
    });
  });
}
