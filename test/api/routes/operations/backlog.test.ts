import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { fanOut, images, menuImport, posEvents, posSync, push, sms, webhooks } from "../../../../queues/index.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { stageJob } from "../../../../sql/outbox.js";
import { closeSignals } from "../../../../sql/signals.js";
import { startApi, type Client } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";

const ops = "/api/v1/admin/ops";

let client: Client;
let stop: () => Promise<void>;
let admin: cast.Character;
let loud: cast.Bakery;
let quiet: cast.Bakery;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  admin = await cast.admin(client);
  [loud, quiet] = [await cast.bakery(client), await cast.bakery(client)];
});

beforeEach(() => sql`truncate staged_jobs`);

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});

const ownersOf = async (queue: string) => (await admin.client.get(`${ops}/queues/${queue}/backlog`)).list;

const nameOf = async ({ id }: cast.Bakery) =>
  (await sql<{ name: string }[]>`select name from partners where id = ${id}::uuid`)[0]?.name;

const nobody = { partnerId: null, partner: null, userId: null, endpointId: null, dueSince: expect.any(String) };

describe("the backlog of a queue says who has the most of its due jobs:", () => {
  test("partners that the jobs name, and not those whose jobs wait, are dead, done or of another queue", async () => {
    const stage = (partnerId: string, runAt?: Date) => stageJob(sql, posEvents, { partnerId }, runAt && { runAt });
    for (let n = 0; n < 3; n += 1) await stage(loud.id);
    await stage(quiet.id);
    await stage(quiet.id, new Date(Date.now() + 3_600_000));
    const [dead, done] = [await stage(quiet.id), await stage(quiet.id)];
    await sql`update staged_jobs set dead_at = now() where id = ${dead}::bigint`;
    await sql`update staged_jobs set done_at = now() where id = ${done}::bigint`;
    await stageJob(sql, sms, { otpId: randomUUID() });
    expect(await ownersOf("pos-events")).toEqual([
      { ...nobody, partnerId: loud.id, partner: await nameOf(loud), jobs: 3 },
      { ...nobody, partnerId: quiet.id, partner: await nameOf(quiet), jobs: 1 },
    ]);
    expect(await ownersOf("sms")).toEqual([]);
  });

  test("the user and the partner of a notification, and the partner of what an event is about", async () => {
    const customer = await cast.user(client);
    const notifications = await sql<{ id: string }[]>`
      insert into notifications (user_id, kind, partner_id)
      select ${customer.id}::uuid, 'BOX_LISTED', ${loud.id}::uuid from generate_series(1, 2)
      returning id`;
    for (const { id } of notifications) await stageJob(sql, push, { notificationId: id });
    expect(await ownersOf("push")).toEqual(
      expect.arrayContaining([
        { ...nobody, userId: customer.id, jobs: 2 },
        { ...nobody, partnerId: loud.id, partner: await nameOf(loud), jobs: 2 },
      ]),
    );
    const subjectId = await cast.listBox(quiet);
    await sql`truncate staged_jobs`;
    await stageJob(sql, fanOut, { event: "BOX_LISTED", subjectId, after: null });
    expect(await ownersOf("fan-out")).toEqual([expect.objectContaining({ partnerId: quiet.id, jobs: 1 })]);
  });

  test("the owners of files, imports and syncs, and endpoints of webhooks", async () => {
    const customer = await cast.user(client);
    const [made] = await sql<{ file: string; import: string; sync: string }[]>`
      with file as (
        insert into files (user_id, name, content_type, expires_at)
        values (${customer.id}::uuid, ${randomUUID()}, 'image/png', now())
        returning id
      ), import as (
        insert into menu_imports (partner_id, file_key, size, columns, delimiter, position, lines)
        values (${loud.id}::uuid, ${randomUUID()}, 1, '{name}', ',', 1, 1)
        returning id
      ), sync as (insert into pos_syncs (partner_id) values (${quiet.id}::uuid) returning id)
      select file.id as file, import.id as import, sync.id as sync from file, import, sync`;
    const endpointId = randomUUID();
    await stageJob(sql, images, { fileId: made?.file ?? "" });
    await stageJob(sql, menuImport, { importId: made?.import ?? "" });
    await stageJob(sql, posSync, { syncId: made?.sync ?? "" });
    await stageJob(sql, webhooks, { endpointId });
    expect(await ownersOf("images")).toEqual([{ ...nobody, userId: customer.id, jobs: 1 }]);
    expect(await ownersOf("menu-import")).toEqual([expect.objectContaining({ partnerId: loud.id, jobs: 1 })]);
    expect(await ownersOf("pos-sync")).toEqual([expect.objectContaining({ partnerId: quiet.id, jobs: 1 })]);
    expect(await ownersOf("webhooks")).toEqual([{ ...nobody, endpointId, jobs: 1 }]);
  });

  test("nobody, where payloads break the contract or name what is gone", async () => {
    await sql`
      insert into staged_jobs (queue, payload)
      values ('push', '{"notificationId": "<b>1</b>"}'), ('push', '{"notificationId": 7}'), ('push', '{"partnerId": null}')`;
    await stageJob(sql, push, { notificationId: randomUUID() });
    expect(await ownersOf("push")).toEqual([]);
  });
});

test("the backlog of POS events says which partners have the most that are queued or parked", async () => {
  const receive = (shop: cast.Bakery, count: number, status: "QUEUED" | "PARKED" | "PROCESSED") => sql`
    insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at)
    select ${shop.id}::uuid, 'generic', 'till', ${status} || n, '{}', ${status}::text::pos_event_status,
           case when ${status} <> 'QUEUED' then now() end
    from generate_series(1, ${count}) as n`;
  await receive(loud, 5, "QUEUED");
  await receive(quiet, 1, "QUEUED");
  await receive(quiet, 2, "PARKED");
  await receive(quiet, 20, "PROCESSED");
  expect((await admin.client.get(`${ops}/pos-events/backlog`)).list).toEqual([
    { partnerId: loud.id, partner: await nameOf(loud), queued: 5, parked: 0, oldestAt: expect.any(String) },
    { partnerId: quiet.id, partner: await nameOf(quiet), queued: 1, parked: 2, oldestAt: expect.any(String) },
  ]);
  await sql`update pos_events set next_attempt_at = now() - interval '5 minutes' where partner_id = ${loud.id}::uuid`;
  const { body } = await admin.client.get(ops);
  expect(body).toMatchObject({ queuedPosEvents: 6, parkedPosEvents: 2, partnersWithParkedEvents: 1 });
  expect(Number(body["posEventsDueSeconds"])).toBeGreaterThanOrEqual(300);
});
