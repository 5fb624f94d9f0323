import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Character } from "../support/cast.js";
import { startSilentServers } from "../support/silent-servers.js";
import { startTill, type Till } from "../support/till.js";
import { until } from "../support/until.js";

const vendor = await startTill();
Object.assign(process.env, { ALLOW_PRIVATE_ADDRESSES: "1", SYNC_WAIT_MS: "0", POS_SQUARE_URL: vendor.url });

const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { allSynced, startPosWorkers } = await import("../support/pos-workers.js");
const { task } = await import("../support/task.js");
const { closeBroker } = await import("../../queues/broker.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { findPosSync, requestPosSync } = await import("../../sql/queries/pos-syncs.js");
const { closeSignals } = await import("../../sql/signals.js");
const { syncMenu } = await import("../../workers/pos-sync.js");

/** Of the 4 slots, those for origins that have not answered. */
const UNPROVEN_SHARE = 1;

let api: Awaited<ReturnType<typeof startApi>>;
let own: Till;
let silent: Awaited<ReturnType<typeof startSilentServers>>;
let admin: Character;

beforeAll(async () => {
  api = await startApi();
  own = await startTill();
  silent = await startSilentServers(8);
  admin = await cast.admin(api.client);
});

afterAll(async () => {
  await api.stop();
  await Promise.all([vendor.stop(), own.stop(), silent.stop()]);
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

/** Opens a bakery with a POS at this address; returns its id. */
async function connect(baseUrl: string, till = own): Promise<string> {
  const { id: partnerId } = await cast.bakery(api.client);
  const credentialsJson = till.credentials(`account-${randomUUID()}`, { baseUrl });
  await admin.client.put("/api/v1/pos/credentials", { partnerId, adapterName: "generic", credentialsJson });
  return partnerId;
}

const request = async (partnerId: string) => {
  const syncId = await requestPosSync(sql, partnerId, { byUser: true, requestId: null });
  if (syncId === undefined) throw new Error("the partner has no POS");
  return syncId;
};

test("partners whose POS never answers do not hold up the syncs of others", async () => {
  const menu = [{ externalId: "rye", name: "Rye", category: "Bread", price: 3 }];
  vendor.serve(menu);
  own.serve(menu);
  const [atVendor, atOwn] = [await connect(vendor.url, vendor), await connect(own.url)];
  // a POS of its partner's own, which answers
  await syncMenu(task({ syncId: await request(atOwn) }));

  const hanging = await Promise.all(silent.urls.map((url) => connect(url)));
  const open = await Promise.all(hanging.map(request));
  const workers = startPosWorkers();
  await until(() => silent.open() === UNPROVEN_SHARE);
  const waiting = async () =>
    (await Promise.all(open.map((id, n) => findPosSync(sql, hanging[n]!, id)))).filter(
      (sync) => sync?.status === "QUEUED",
    ).length;
  await Promise.all([request(atVendor), request(atOwn)]);
  await Promise.all([allSynced(atVendor), allSynced(atOwn)]);
  await until(async () => (await waiting()) > 0);
  expect(silent.most()).toBe(UNPROVEN_SHARE);
  const attempts = await sql<{ attempts: number }[]>`
    select distinct j.attempts from pos_syncs s join staged_jobs j on j.id = s.job_id
    where s.partner_id = any (${hanging}::uuid[]) and s.status = 'QUEUED' and j.run_at > now()`;
  expect(attempts).toEqual([{ attempts: 0 }]);
  await silent.stop();
  await workers.stop();
  silent = await startSilentServers(1);
});

test("a POS that leaves five calls in a row unanswered is not called for a while, and its syncs wait", async () => {
  const till = await startTill();
  till.serve([]);
  const partners = await Promise.all(Array.from({ length: 6 }, () => connect(till.url, till)));
  await till.stop();
  const syncs = await Promise.all(partners.map(request));
  for (const syncId of syncs.slice(0, 5)) await syncMenu(task({ syncId }));
  const sixth = { partnerId: partners[5]!, id: syncs[5]! };
  await expect(syncMenu(task({ syncId: sixth.id }))).rejects.toMatchObject({ name: "Snooze" });
  expect(await findPosSync(sql, sixth.partnerId, sixth.id)).toMatchObject({ status: "QUEUED", failure: null });
});
