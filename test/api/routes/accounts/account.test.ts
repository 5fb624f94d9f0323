import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client, Reply } from "../../../support/api.js";
import type { Character } from "../../../support/cast.js";

const code = "424242";
process.env["OTP_FIXED_CODE"] = code;
process.env["OTP_SENDS_PER_ADDRESS"] = "1000";

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let anna: Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

beforeEach(async () => {
  anna = await cast.user(client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

async function logIn(phone: string): Promise<Reply> {
  await client.post("/api/v1/auth/otp/send", { phone });
  return client.post("/api/v1/auth/otp/verify", { phone, code });
}

describe("notification preferences", () => {
  const path = "/api/v1/users/me/notification-preferences";
  const defaults = {
    push: true,
    sms: true,
    email: true,
    marketing: false,
    quietHoursStart: "22:00:00",
    quietHoursEnd: "08:00:00",
  };

  test("have defaults, and each can be changed alone and by its user only", async () => {
    expect((await anna.client.get(path)).body).toEqual(defaults);
    const first = await anna.client.put(path, { marketing: true });
    expect([first.status, first.body]).toEqual([200, { ...defaults, marketing: true }]);
    const rest = { push: false, sms: false, email: false, quietHoursStart: "00:00:00", quietHoursEnd: "00:00:00" };
    expect((await anna.client.put(path, rest)).body).toEqual({ ...rest, marketing: true });
    expect((await anna.client.get(path)).body).toEqual({ ...rest, marketing: true });
    expect((await (await cast.user(client)).client.get(path)).body).toEqual(defaults);
  });

  test("keep concurrent changes to different fields", async () => {
    const changes = [{ push: false }, { sms: false }, { marketing: true }, { quietHoursEnd: "09:30:15" }];
    await Promise.all(changes.map((change) => anna.client.put(path, change)));
    expect((await anna.client.get(path)).body).toEqual(Object.assign({}, defaults, ...changes));
  });

  test.each([
    ["an empty body", {}],
    ["a word", { push: "yes" }],
    ["null", { sms: null }],
    ["hours and minutes", { quietHoursStart: "22:00" }],
    ["hour 24", { quietHoursEnd: "24:00:00" }],
    ["a time with an offset", { quietHoursEnd: "08:00:00Z" }],
  ])("%s: 400 VALIDATION_ERROR", async (_case, change) => {
    expect(outcome(await anna.client.put(path, change))).toBe("400 VALIDATION_ERROR");
  });
});

describe("one's own avatar", () => {
  const set = (avatarUrl: unknown) => anna.client.post("/api/v1/users/me/avatar", { avatarUrl });

  test("is set by its URL", async () => {
    const avatarUrl = "https://cdn.example.com/anna.webp?size=2#face";
    const reply = await set(avatarUrl);
    expect([reply.status, reply.body]).toEqual([200, { id: anna.id, avatarUrl }]);
    expect((await anna.client.get("/api/v1/users/me")).body).toMatchObject({ avatarUrl });
  });

  test.each([
    "http://cdn.example.com/a.webp",
    "javascript:alert(1)",
    "//cdn.example.com/a",
    "https://",
    "",
    7,
    undefined,
  ])("%j: 400 VALIDATION_ERROR", async (avatarUrl) => {
    expect(outcome(await set(avatarUrl))).toBe("400 VALIDATION_ERROR");
  });
});

test("a rejected registration does not make the owner of its phone a partner", async () => {
  const phone = cast.newPhone();
  const id = (await client.post("/api/v1/partners/register", { ...cast.bakeryProfile, phone })).string("id");
  const admin = await cast.admin(client);
  await admin.client.put(`/api/v1/admin/partners/${id}/reject`);
  const person = client.as((await logIn(phone)).string("accessToken"));
  expect(outcome(await person.get("/api/v1/partners/me"))).toBe("403 FORBIDDEN");
  expect(outcome(await person.post("/api/v1/partners/register", cast.bakeryProfile))).toBe("201");
});

test("an order's total may exceed the highest price of an item", async () => {
  const bakery = await cast.bakery(client);
  const menuItemId = await cast.addMenuItem(bakery, { price: 9_000_000 });
  const order = { items: [{ menuItemId, qty: 100 }], totalAmount: 900_000_000, partnerId: bakery.id };
  const placed = await anna.client.post("/api/v1/orders", order);
  expect([placed.status, placed.body["amountDue"]]).toEqual([201, 900_000_000]);
});

describe("a deleted account", () => {
  const deleteMe = (who: Character) => who.client.delete("/api/v1/users/me");

  test("loses its tokens, sessions, devices and favourites at once", async () => {
    const phone = cast.newPhone();
    const tokens = await logIn(phone);
    const as = client.as(tokens.string("accessToken"));
    const bakery = await cast.bakery(client);
    await as.post("/api/v1/notifications/devices", { pushToken: "fcm:0123456789", platform: "ios" });
    await as.post("/api/v1/users/me/favorites", { targetType: "PARTNER", targetId: bakery.id });
    const { body: me } = await as.get("/api/v1/users/me");

    const deleted = await as.delete("/api/v1/users/me");
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    for (const path of ["/users/me", "/orders", "/notifications", "/loyalty/score", `/boxes/by-partner/${bakery.id}`]) {
      expect(outcome(await as.get(`/api/v1${path}`))).toBe("401 UNAUTHORIZED");
    }
    expect(outcome(await as.delete("/api/v1/users/me"))).toBe("401 UNAUTHORIZED");
    const refreshed = await client.post("/api/v1/auth/token/refresh", { refreshToken: tokens.string("refreshToken") });
    expect(outcome(refreshed)).toBe("401 INVALID_REFRESH_TOKEN");
    expect(
      await sql`
        select (select count(*)::integer from devices where user_id = u.id) as devices,
               (select count(*)::integer from favorites where user_id = u.id) as favorites,
               (select count(*)::integer from sessions where user_id = u.id and revoked_at is null) as sessions
        from users u where u.id = ${String(me["id"])}::uuid`,
    ).toMatchObject([{ devices: 0, favorites: 0, sessions: 0 }]);

    const again = client.as((await logIn(phone)).string("accessToken"));
    const created = (await again.get("/api/v1/users/me")).body;
    expect(created["id"]).not.toBe(me["id"]);
    expect(created).toMatchObject({ phone, firstName: null });
  });

  test("does not affect other accounts", async () => {
    const boris = await cast.user(client);
    await deleteMe(anna);
    expect(outcome(await boris.client.get("/api/v1/users/me"))).toBe("200");
  });

  test("is deleted once by ten concurrent requests", async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => deleteMe(anna)));
    expect(replies.map(outcome).sort()).toEqual(["204", ...Array<string>(9).fill("401 UNAUTHORIZED")]);
  });

  test("keeps its orders, for the partner too", async () => {
    const bakery = await cast.bakery(client);
    const items = [{ menuItemId: await cast.addMenuItem(bakery), qty: 1 }];
    const order = await anna.client.post("/api/v1/orders", { items, totalAmount: 120, partnerId: bakery.id });
    await deleteMe(anna);
    const read = await bakery.owner.client.get(`/api/v1/orders/${order.string("orderId")}`);
    expect(read.body).toMatchObject({ status: "ACCEPTED" });
  });

  test("loses its admin role", async () => {
    const admin = await cast.admin(client);
    await deleteMe(admin);
    expect(outcome(await admin.client.get("/api/v1/admin/partners"))).toBe("401 UNAUTHORIZED");
  });

  test.each(["ACTIVE", "PENDING_REVIEW"] as const)(
    "leaves its %s partner suspended and free for another owner",
    async (status) => {
      const { id, owner } = await cast.bakery(client, status);
      const boxId = status === "ACTIVE" && (await cast.listBox({ id, owner }));
      await deleteMe(owner);
      const admin = await cast.admin(client);
      const listed = (await admin.client.get("/api/v1/admin/partners?status=SUSPENDED")).list;
      expect(listed.find((partner) => partner["id"] === id)).toMatchObject({ status: "SUSPENDED" });
      if (boxId) {
        const order = { items: [{ boxId, qty: 1 }], totalAmount: 249.9, partnerId: id };
        expect(outcome(await anna.client.post("/api/v1/orders", order))).toBe("409 CONFLICT");
      }
      const linked = await admin.client.put(`/api/v1/admin/partners/${id}/owner`, { phone: anna.phone });
      expect(linked.body).toMatchObject({ ownerId: anna.id });
      expect((await anna.client.get("/api/v1/partners/me/status")).body).toEqual({
        status: "SUSPENDED",
        active: false,
      });
    },
  );

  test("leaves its partner to the staff", async () => {
    const { id, owner } = await cast.bakery(client);
    await cast.join({ id, owner }, anna);
    await deleteMe(owner);
    expect((await anna.client.get("/api/v1/partners/me/status")).body).toEqual({ status: "ACTIVE", active: true });
    await deleteMe(anna);
    expect(await sql`select owner_id, status from partners where id = ${id}::uuid`).toMatchObject([
      { ownerId: null, status: "SUSPENDED" },
    ]);
  });

  test("does not get its partner back by logging in again", async () => {
    const phone = cast.newPhone();
    await client.post("/api/v1/partners/register", { ...cast.bakeryProfile, phone });
    const owner = client.as((await logIn(phone)).string("accessToken"));
    expect(outcome(await owner.get("/api/v1/partners/me"))).toBe("200");
    await owner.delete("/api/v1/users/me");
    const again = client.as((await logIn(phone)).string("accessToken"));
    expect(outcome(await again.get("/api/v1/partners/me"))).toBe("403 FORBIDDEN");
    expect(outcome(await again.post("/api/v1/partners/register", cast.bakeryProfile))).toBe("201");
  });
});
