import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { push } from "../../queues/index.js";
import { closeDatabase, sql, transaction } from "../../sql/db.js";
import { stageJob } from "../../sql/outbox.js";
import { newPhone } from "../support/cast.js";
import { countWaiting, hold } from "../support/hold.js";
import { insertNotification, notificationStatus } from "../support/notifications.js";
import { countSends, prepareService, type Program, type Service } from "../support/programs.js";
import { everyoneTold, listTold, openShop, orderRoll, orderRolls, type Shop } from "../support/shop.js";
import { until } from "../support/until.js";

/** What a worker is in the middle of: one job of each kind, at each place where an interruption could show. */
interface Work {
  /** Its people are being written down. */
  orderId: string;
  /** A notification just before it is sent. */
  unsent: string;
  /** A notification that is sent, its row not yet settled. */
  unsettled: string;
  /** Lets everything go on. */
  release: () => Promise<void>;
}

/** What happens to the service when its processes are interrupted; the same whichever broker the test file has configured. */
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
      expect(service.accidents).toEqual([]);
      await Promise.all(service.workers.map((worker) => worker.kill()));
    });

    afterAll(async () => {
      await service.stop();
      await closeDatabase();
    });

    const holdNotification = (id: string) =>
      hold((tx) => tx`select from notifications where id = ${id}::uuid for update`);

    /** Brings a worker that is started here to the middle of its work. */
    async function busy(worker: Program): Promise<Work> {
      const [orderId] = await orderRolls(shop, 1);
      const [unsent, unsettled] = [await insertNotification(), await insertNotification()];
      const releaseOrder = await hold((tx) => tx`select from orders where id = ${orderId!}::uuid for update`);
      const [releaseUnsent, letSend] = [await holdNotification(unsent), await holdNotification(unsettled)];
      await stageJob(sql, push, { notificationId: unsent });
      const jobId = await stageJob(sql, push, { notificationId: unsettled });
      await worker.start();
      await until(async () => (await countWaiting()) === 3);
      const releaseSettling = await hold((tx) => tx`select from staged_jobs where id = ${jobId}::bigint for update`);
      await letSend();
      await until(() => countSends([worker], unsettled) === 1);
      await until(async () => (await countWaiting()) === 3);
      return {
        orderId: orderId!,
        unsent,
        unsettled,
        release: async () => {
          await Promise.all([releaseOrder(), releaseUnsent(), releaseSettling()]);
        },
      };
    }

    async function tookEffectOnce({ orderId, unsent, unsettled }: Work): Promise<void> {
      await everyoneTold(shop, [orderId]);
      const ids = [unsent, unsettled, ...(await listTold([orderId])).map(({ id }) => id)];
      for (const id of ids) {
        expect(await notificationStatus(id)).toMatchObject({ status: "SENT" });
        for (const worker of service.workers) expect(countSends([worker], id)).toBeLessThanOrEqual(1);
      }
    }

    test("a worker killed in the middle of its jobs: another one takes them over, and each takes effect once", async () => {
      const [first, second] = service.workers;
      const work = await busy(first);
      await first.kill();
      await work.release();
      await second.start();
      await tookEffectOnce(work);
    });

    test("a worker stopped for longer than it may keep its jobs: each takes effect once, also when it goes on", async () => {
      const [first, second] = service.workers;
      const work = await busy(first);
      const thaw = first.freeze();
      await work.release();
      await second.start();
      await everyoneTold(shop, [work.orderId]);
      thaw();
      await second.kill();
      await everyoneTold(shop, [work.orderId, ...(await orderRolls(shop, 5))]);
      await tookEffectOnce(work);
    });

    test("an API killed in the middle of its writes: each is there with its jobs, or not at all", async () => {
      const newShop = await openShop(service.client);
      const phone = newPhone();
      const release = await hold((tx) => tx`lock table staged_jobs`);
      const answers = Promise.allSettled([orderRoll(newShop), service.client.post("/api/v1/auth/otp/send", { phone })]);
      await until(async () => (await countWaiting()) === 2);
      await service.api.kill();
      await release();
      expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected"]);

      const { orders, codes } = await transaction(async (tx) => {
        // waits for the end of what was cut short
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

    test("an API killed as soon as it has answered: the jobs of every order it accepted run", async () => {
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
      await everyoneTold(shop, orderIds);
      await service.api.start();
    });
  });
}
