import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { newVapidKeys } from "../../../../lib/process/push-keys.js";
import type { Client } from "../../../support/api.js";
import type { Character } from "../../../support/cast.js";

const vapid = newVapidKeys();
Object.assign(process.env, vapid);

// these modules read the configuration
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { runUpkeep } = await import("../../../../workers/upkeep.js");
const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { task } = await import("../../../support/task.js");

const path = "/api/v1/notifications";
let client: Client;
let stop: () => Promise<void>;
let anna: Character;

beforeAll(async () => {
  ({ client, stop } = await startApi());
});

beforeEach(async () => {
  anna = await cast.user(client);
});

afterAll(async () => {
  await stop();
  await closeDatabase();
});

interface About {
  orderId?: string;
  partnerId?: string;
  boxId?: string;
  facts?: { points?: number; rating?: number };
}

/** Inserts a notification for a user; returns its id. */
async function notify(who: Character, kind = "ORDER_READY", { orderId, partnerId, boxId, facts }: About = {}) {
  const [row] = await sql<{ id: string }[]>`
    insert into notifications (user_id, kind, order_id, partner_id, box_id, facts)
    values (
      ${who.id}::uuid, ${kind}, ${orderId ?? null}::uuid, ${partnerId ?? null}::uuid, ${boxId ?? null}::uuid,
      ${sql.json(facts ?? {})}
    )
    returning id`;
  return row!.id;
}

const inbox = async (as: Character, query = "") => (await as.client.get(`${path}${query}`)).list;
const idsOf = (rows: Record<string, unknown>[]) => rows.map(({ id }) => id);
const unread = async (as: Character) => idsOf(await inbox(as, "?unread=true"));

describe("the inbox", () => {
  test("describes each notification in the user's language, newest first", async () => {
    const bakery = await cast.bakery(client);
    const boxId = await cast.listBox(bakery, { price: 249.9 });
    const order = await anna.client.post("/api/v1/orders", {
      items: [{ boxId, qty: 1 }],
      totalAmount: 249.9,
      partnerId: bakery.id,
    });
    const orderId = order.string("orderId");
    const about = { orderId, partnerId: bakery.id };
    const ready = await notify(anna, "ORDER_READY", about);
    const points = await notify(anna, "POINTS_EARNED", { partnerId: bakery.id, facts: { points: 21 } });
    const cheaper = await notify(anna, "BOX_CHEAPER", { boxId, partnerId: bakery.id });
    const strange = await notify(anna, "SOMETHING_OLD");

    const russian = await inbox(anna);
    expect(idsOf(russian)).toEqual([strange, cheaper, points, ready]);
    expect(russian[3]).toMatchObject({
      kind: "ORDER_READY",
      title: "Заказ готов",
      body: "«Булочная на углу»: можно забирать.",
      status: "QUEUED",
      ...about,
      boxId: null,
      readAt: null,
    });
    expect(russian[2]).toMatchObject({ title: "+21 балл" });
    expect(String(russian[1]?.["body"]).replace(/\s/g, " ")).toBe(
      "«Вечерний набор» теперь за 249,90 ₽, «Булочная на углу».",
    );
    expect(russian[0]).toMatchObject({ kind: "SOMETHING_OLD", title: "", body: "" });

    await anna.client.put("/api/v1/users/me", { locale: "en-GB" });
    expect((await inbox(anna))[3]).toMatchObject({
      title: "Order ready",
      body: "“Булочная на углу”: come and pick it up.",
    });
  });

  test("is separate for each user, and has pages", async () => {
    const boris = await cast.user(client);
    await notify(boris);
    const ids = [await notify(anna), await notify(anna), await notify(anna)];
    const first = await anna.client.get(`${path}?limit=2`);
    const next = /^<(.*)>; rel="next"$/.exec(first.headers.get("link") ?? "")?.[1];
    const second = await anna.client.get(next!);
    expect([...first.list, ...second.list].map(({ id }) => id)).toEqual(ids.toReversed());
    expect(second.headers.get("link")).toBeNull();
  });

  test("marks notifications as read by id or up to one, permanently, and only the user's own", async () => {
    const boris = await cast.user(client);
    const [his, first, second, third, fourth] = [
      await notify(boris),
      await notify(anna),
      await notify(anna),
      await notify(anna),
      await notify(anna),
    ];
    const read = async (body: unknown) => (await anna.client.post(`${path}/read`, body)).body;
    expect(await read({ ids: [third, his] })).toEqual({ read: 1 });
    expect(await unread(anna)).toEqual([fourth, second, first]);
    const [{ readAt } = {}] = (await inbox(anna)).filter(({ id }) => id === third);
    expect(await read({ upTo: second })).toEqual({ read: 2 });
    expect(await unread(anna)).toEqual([fourth]);
    expect(await read({ ids: [third, third], upTo: third })).toEqual({ read: 0 });
    expect((await inbox(anna)).find(({ id }) => id === third)).toMatchObject({ readAt });
    expect(await read({ ids: [fourth], upTo: first })).toEqual({ read: 1 });
    expect([await unread(anna), await unread(boris)]).toEqual([[], [his]]);
  });

  test.each([
    ["an empty body", {}, "body: must have ids, upTo or both"],
    ["no ids", { ids: [] }, "ids: must "],
    ["too many ids", { ids: Array.from({ length: 201 }, () => "01890000-0000-7000-8000-000000000000") }, "ids: must "],
    ["an invalid upTo", { upTo: "today" }, "upTo: must "],
  ])("to mark as read, %s: 400 VALIDATION_ERROR with the reason", async (_case, body, words) => {
    const reply = await anna.client.post(`${path}/read`, body);
    expect([reply.status, reply.body["code"]]).toEqual([400, "VALIDATION_ERROR"]);
    expect(reply.body["detail"]).toContain(words);
  });

  test("deletes notifications after half a year", async () => {
    const [old, young] = [await notify(anna), await notify(anna)];
    const device = "01890000-0000-7000-8000-000000000001";
    const age = async (id: string, days: number) => {
      const [row] = await sql<{ id: string }[]>`
        update notifications
        set id = overlay(id::text placing left(first_id_at(now() - interval '1 day' * ${days}::integer)::text, 13) from 1)::uuid
        where id = ${id}::uuid
        returning id`;
      return row!.id;
    };
    const [gone, kept] = [await age(old, 181), await age(young, 179)];
    await sql`
      insert into notification_deliveries (notification_id, device_id, platform, address_digest, status)
      select id, ${device}::uuid, 'web', sha256('address'), 'SENT' from unnest(${[gone, kept]}::uuid[]) as id`;
    await runUpkeep(task({ task: "purge-notifications" }));
    expect(idsOf(await inbox(anna))).toEqual([kept]);
    const left = await sql`
      select notification_id as id from notification_deliveries where device_id = ${device}::uuid`;
    expect(left).toMatchObject([{ id: kept }]);
  });
});

test("browsers can read the key to subscribe with", async () => {
  const reply = await client.get(`${path}/vapid-public-key`);
  expect([reply.status, reply.body]).toEqual([200, { publicKey: vapid.VAPID_PUBLIC_KEY }]);
  expect(reply.text).not.toContain(vapid.VAPID_PRIVATE_KEY);
});

describe("admins", () => {
  test("see the status of a user's notifications on each device, without addresses", async () => {
    const admin = await cast.admin(client);
    const [sent, dropped] = [await notify(anna), await notify(anna)];
    await notify(await cast.user(client));
    const device = await anna.client.post(`${path}/devices`, { pushToken: "fcm:secret-address", platform: "ios" });
    const deviceId = device.string("id");
    await sql`
      insert into notification_deliveries (notification_id, device_id, platform, address_digest, status, attempts, ended_at)
      select ${sent}::uuid, id, platform, address_digest, 'SENT', 2, now() from devices where id = ${deviceId}::uuid`;
    await sql`update notifications set status = 'SENT', settled_at = now() where id = ${sent}::uuid`;
    await sql`
      update notifications set status = 'DROPPED', reason = 'push is off', settled_at = now() where id = ${dropped}::uuid`;
    const reply = await admin.client.get(`/api/v1/admin/notifications?userId=${anna.id}`);
    expect(reply.list).toMatchObject([
      { id: dropped, status: "DROPPED", reason: "push is off", deliveries: [] },
      {
        id: sent,
        status: "SENT",
        reason: null,
        deliveries: [{ deviceId, platform: "ios", status: "SENT", attempts: 2 }],
      },
    ]);
    expect(reply.text).not.toContain("secret-address");
    const page = await admin.client.get(`/api/v1/admin/notifications?userId=${anna.id}&limit=1`);
    expect([page.list.length, page.headers.get("link")]).toEqual([1, expect.stringContaining(anna.id)]);
  });

  test("must name a user: otherwise 400 VALIDATION_ERROR", async () => {
    const admin = await cast.admin(client);
    const reply = await admin.client.get("/api/v1/admin/notifications");
    expect([reply.status, reply.body["code"]]).toEqual([400, "VALIDATION_ERROR"]);
  });
});
