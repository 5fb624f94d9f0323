import { randomUUID } from "node:crypto";
import { mkdir, rm, statfs, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { newCredentialsKey } from "../../lib/process/keys.js";
import { overview } from "../../api/common/overview.js";
import { sql } from "../../sql/db.js";
import { countCredentialsUnderOtherKeys } from "../../sql/queries/pos-credentials.js";
import type { Client } from "../support/api.js";
import { addMenuItem, admin, bakery, listBox, user, type Bakery } from "../support/cast.js";
import { lockRows } from "../support/locks.js";
import { makeReachable } from "../support/notifications.js";
import { newSecret, signed, type TillEvent } from "../support/till.js";
import type { Deployment } from "./deployment.js";

/** A shop with a connected POS. */
interface Shop extends Bakery {
  boxId: string;
  secret: string;
}

/** The deployment and its data, in which incidents happen. */
export interface Town {
  client: Client;
  deployment: Deployment;
  shop: Shop;
  other: Shop;
}

export interface Incident {
  /** The report that the operator gets. */
  symptom: string;
  /** The heading of its paragraph in scripts/ops/runbook.md. */
  paragraph: string;
  begin: (town: Town) => Promise<void>;
  /** Whether it is over, without remains. */
  isOver: (town: Town) => Promise<boolean>;
  /** Ends an unsolved incident, so that the next one begins with a working service. */
  leave: (town: Town) => Promise<unknown>;
  /** Actions of the operator outside of the service, by the word to enter. */
  commands?: Readonly<Record<string, { what: string; run: (town: Town) => Promise<void> }>>;
}

/** An outage of an hour, shortened for the drill. */
const HOUR_MS = 5 * 60_000;
const DAY_MS = 24 * 3_600_000;
const MB = 1_048_576;

// state of the incidents between their begin and their end
let vendorIsBack = true;
let poisoned = 0;
let rolledBack = true;
let unlock = (): Promise<void> => Promise.resolve();
let keysBefore = "";
let flooding: Promise<void> | undefined;
let refused = new AbortController();
let newKeyId = "";
let clockIsRight = false;

/** Restores the clock of the processes. */
async function setClock({ deployment }: Town): Promise<void> {
  await deployment.configure({ NODE_OPTIONS: null });
  await deployment.restart();
  clockIsRight = true;
}

async function openShop(client: Client, deployment: Deployment): Promise<Shop> {
  const shop = await bakery(client);
  await makeReachable([shop.owner.id]);
  const secret = newSecret();
  const operator = await admin(client);
  await operator.client.put("/api/v1/pos/credentials", {
    partnerId: shop.id,
    adapterName: "generic",
    credentialsJson: deployment.standIns.till.credentials(shop.id, { webhookSecret: secret }),
  });
  return { ...shop, secret, boxId: await listBox(shop, { price: 100, quantity: 10_000 }) };
}

export async function openTown(client: Client, deployment: Deployment): Promise<Town> {
  const [shop, other] = [await openShop(client, deployment), await openShop(client, deployment)];
  return { client, deployment, shop, other };
}

/** Places orders of new customers, each with pushes to the customer and to the shop. */
async function order({ client, shop }: Town, customers: number): Promise<void> {
  for (let n = 0; n < customers; n += 1) {
    const customer = await user(client);
    await makeReachable([customer.id]);
    const body = { items: [{ menuItemId: shop.boxId, qty: 1 }], totalAmount: 100, partnerId: shop.id };
    await customer.client.post("/api/v1/orders", body);
  }
}

const sendFrom = (
  { deployment }: Pick<Town, "deployment">,
  shop: Shop,
  event: Omit<TillEvent, "partnerExternalId">,
) => {
  const { body, headers } = signed({ ...event, partnerExternalId: shop.id }, shop.secret);
  return fetch(`${deployment.url}/api/v1/pos/webhooks/generic`, { method: "POST", body, headers });
};

const queueNow = async (name: string) => (await overview()).queues.find(({ queue }) => queue === name);

/** Whether a queue has no dead job, and none that has been due for long. */
async function isQuiet(name: string): Promise<boolean> {
  const queue = await queueNow(name);
  return queue !== undefined && queue.dead === 0 && queue.oldestDueSeconds < 30;
}

/** Whether the queue is empty. */
const isDone = async (name: string): Promise<boolean> => {
  const queue = await queueNow(name);
  return queue !== undefined && queue.dead + queue.due + queue.waiting === 0;
};

/** Waits for a state with few checks, because the machine is busy. */
async function reached(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(1_000);
}

const isDead = async (id: number) =>
  (await sql`select from staged_jobs where id = ${id}::bigint and dead_at is not null`).length > 0;

/** Failures of the stand-ins, by name. */
const trouble = ({ deployment }: Town, name: string) => {
  const found = deployment.standIns.troubles.find((each) => each.name === name);
  if (!found) throw new Error(`there is no trouble "${name}"`);
  return found;
};

export const incidents: Readonly<Record<string, Incident>> = {
  "broker-wiped": {
    symptom: "Redis was started again at three, and came back empty. Is anything lost? Are orders still announced?",
    paragraph: "The broker was wiped",
    begin: async (town) => {
      const hanging = trouble(town, "FCM answers never");
      hanging.begin();
      await order(town, 30);
      await reached(async () => ((await queueNow("push"))?.due ?? 0) > 0);
      await town.deployment.wipeBroker();
      hanging.end();
    },
    isOver: async () => ((await overview()).canaryAgeSeconds ?? Infinity) < 60 && (await isDone("push")),
    leave: () => Promise.resolve(),
  },
  "vendor-down": {
    symptom: "Customers with the Android app say that they hear nothing of their orders.",
    paragraph: "PushFails",
    begin: async (town) => {
      vendorIsBack = false;
      const down = trouble(town, "FCM answers 500");
      down.begin();
      setTimeout(() => {
        down.end();
        vendorIsBack = true;
      }, HOUR_MS);
      await order(town, 100);
    },
    isOver: async () => vendorIsBack && (await isDone("push")),
    leave: (town) => {
      trouble(town, "FCM answers 500").end();
      return Promise.resolve();
    },
  },
  "poisoned-job": {
    symptom: "The alert DeadJobs fires for the queue push. Somebody has replayed it twice, and it fires again.",
    paragraph: "DeadJobs",
    begin: async () => {
      const [job] = await sql<{ id: number }[]>`
        insert into staged_jobs (queue, payload) values ('push', '{"notificationId": "none"}') returning id`;
      poisoned = job?.id ?? 0;
      await reached(() => isDead(poisoned));
    },
    isOver: async () =>
      (await sql`select from staged_jobs where id = ${poisoned}::bigint and done_at is not null`).length > 0,
    leave: () => sql`delete from staged_jobs where id = ${poisoned}::bigint`,
  },
  "bad-deploy": {
    symptom: "A new version went out ten minutes ago. Since then nobody gets a push, and the alert DeadJobs fires.",
    paragraph: "A deploy kills every job of a queue",
    begin: async (town) => {
      rolledBack = false;
      await town.deployment.deploy("test/incidents/bad-worker.ts");
      await order(town, 300);
      await reached(async () => ((await queueNow("push"))?.dead ?? 0) >= 300);
    },
    isOver: async () => rolledBack && (await isDone("push")),
    leave: ({ deployment }) => deployment.deploy(null),
    commands: {
      rollback: {
        what: "runs the version before",
        run: async ({ deployment }) => {
          await deployment.deploy(null);
          rolledBack = true;
        },
      },
    },
  },
  "menu-change": {
    symptom:
      "A bakery has renamed its goods. It has put the new ones on its menu since, but the orders from its till are missing.",
    paragraph: "PosEventsParked",
    begin: async (town) => {
      const { shop } = town;
      const events = Array.from({ length: 40 }, () => ({
        type: "order.created",
        externalId: randomUUID(),
        data: { items: [{ externalId: "new-roll", qty: 1 }], totalAmount: 120 },
      }));
      for (const event of events) await sendFrom(town, shop, event);
      // an event that can never be applied
      const data = { orderExternalId: randomUUID(), status: "READY" };
      await sendFrom(town, shop, { type: "order.status", externalId: randomUUID(), data });
      await reached(async () => (await overview()).parkedPosEvents > events.length);
      await addMenuItem(shop, { price: 120, externalId: "new-roll" });
    },
    isOver: async () => (await overview()).parkedPosEvents === 0,
    leave: () => Promise.resolve(),
  },
  flood: {
    symptom: "The alert QueueGrows fires for pos-events. Other shops say that the orders of their tills come late.",
    paragraph: "One partner floods the service",
    begin: async (town) => {
      refused = new AbortController();
      flooding = (async () => {
        while (!refused.signal.aborted) {
          const each = Array.from({ length: 50 }, async () => {
            const data = { orderExternalId: randomUUID(), status: "READY" };
            const answer = await sendFrom(town, town.other, { type: "order.status", externalId: randomUUID(), data });
            if (!answer.ok) refused.abort();
          });
          await Promise.all(each).catch(() => undefined);
        }
      })();
      await reached(
        async () => (await sql`select from pos_events where partner_id = ${town.other.id}::uuid`).length > 2_000,
      );
    },
    isOver: async ({ other }) => {
      const connected = await sql`select from pos_credentials where partner_id = ${other.id}::uuid`;
      if (connected.length > 0) return false;
      refused.abort();
      await flooding;
      return isQuiet("pos-events");
    },
    leave: () => {
      refused.abort();
      return flooding ?? Promise.resolve();
    },
  },
  "stuck-lock": {
    symptom: "Nobody can order: the app says that the service is overloaded. Menus and boxes are shown as always.",
    paragraph: "TransactionsWait",
    begin: async () => {
      unlock = await lockRows(async (tx) => {
        await tx`set local idle_in_transaction_session_timeout = 0`;
        await tx`lock table orders in share row exclusive mode`;
      });
    },
    isOver: async () =>
      (
        await sql`
          select from pg_locks where relation = 'orders'::regclass and mode = 'ShareRowExclusiveLock' and granted`
      ).length === 0,
    // this fails when the operator has ended its session
    leave: () => unlock().catch(() => undefined),
  },
  "disk-full": {
    symptom: "Shops cannot upload pictures of their boxes.",
    paragraph: "StorageFull",
    begin: async ({ deployment }) => {
      if (!deployment.ownDisk) throw new Error("this user may not mount a disk: run it as root");
      const folder = join(deployment.folder, "files", "unfinished");
      await mkdir(folder, { recursive: true });
      const old = new Date(Date.now() - 2 * DAY_MS);
      for (let full = false; !full;) {
        const path = join(folder, randomUUID());
        // the last file does not fit
        full = await writeFile(path, Buffer.alloc(4 * MB)).then(
          () => false,
          () => true,
        );
        await utimes(path, old, old).catch(() => undefined);
      }
    },
    isOver: async ({ deployment }) => {
      const { bavail, blocks } = await statfs(join(deployment.folder, "files"));
      return bavail > 0.1 * blocks;
    },
    leave: ({ deployment }) => rm(join(deployment.folder, "files", "unfinished"), { recursive: true }),
  },
  "wrong-clock": {
    symptom:
      "The alert PushKeyRefused fires, though nobody has changed a key. The machine was moved to another host in the night.",
    paragraph: "A clock is wrong",
    begin: async (town) => {
      const clock = new URL("./wrong-clock.js", import.meta.url).href;
      await town.deployment.configure({ NODE_OPTIONS: `--import ${clock}` });
      await town.deployment.restart();
      await order(town, 20);
    },
    isOver: async () => clockIsRight && (await isDone("push")),
    leave: setClock,
    commands: {
      clock: {
        what: "sets the machine's clock by the time of the network, and starts the processes again",
        run: setClock,
      },
    },
  },
  "half-rotated-key": {
    symptom:
      "CREDENTIALS_KEYS were rotated yesterday. Since then no menu has been synced, and no order from a till arrives.",
    paragraph: "A key was rotated half-way",
    begin: async ({ deployment }) => {
      keysBefore = process.env["CREDENTIALS_KEYS"] ?? "";
      const next = newCredentialsKey();
      newKeyId = next.split(":")[0] ?? "";
      await deployment.configure({ CREDENTIALS_KEYS: next }, `CREDENTIALS_KEYS were ${keysBefore}`);
      await deployment.restart();
    },
    isOver: async ({ shop, deployment }) => {
      if ((await countCredentialsUnderOtherKeys(sql, newKeyId)) > 0) return false;
      const data = { items: [{ externalId: "new-roll", qty: 1 }], totalAmount: 120 };
      const event = { type: "order.created", externalId: randomUUID(), data };
      return (await sendFrom({ deployment }, shop, event)).ok;
    },
    leave: async ({ deployment }) => {
      await deployment.configure({ CREDENTIALS_KEYS: keysBefore });
      await deployment.restart();
    },
  },
};
