import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { decodeJwt } from "jose";

process.env["TRUST_PROXY"] = "1";

const cast = await import("../../../support/cast.js");
const { outcome } = await import("../../../support/api.js");
const { startLogins } = await import("../../../support/logins.js");
const { task } = await import("../../../support/task.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { fanOutEvent } = await import("../../../../workers/fan-out.js");

const { client, stop, logIn } = await startLogins();
let admin: Awaited<ReturnType<typeof cast.admin>>;

beforeAll(async () => {
  admin = await cast.admin(client);
});

afterAll(async () => {
  await stop();
  await closeDatabase();
});

const register = async (phone: string, as = client) =>
  (await as.post("/api/v1/partners/register", { ...cast.bakeryProfile, phone })).string("id");
/** Logs in, and returns the user's client. */
const holderOf = async (phone: string) => client.as((await logIn(phone)).string("accessToken"));
const partnerOf = async (as: typeof client) => (await as.get("/api/v1/partners/me")).body["id"];
const decline = async (as: typeof client) => outcome(await as.post("/api/v1/partners/me/decline"));
const rowOf = async (id: string) =>
  (await sql`select status, owner_id, owner_phone, phone from partners where id = ${id}::uuid`)[0];
const nobodys = { ownerId: null, ownerPhone: null, phone: null };

test("who becomes an owner by their phone is notified, and declines the partner in one call", async () => {
  const phone = cast.newPhone();
  const id = await register(phone);
  const login = await logIn(phone);
  const holder = client.as(login.string("accessToken"));
  const { sub: userId = "" } = decodeJwt(login.string("accessToken"));
  expect(await partnerOf(holder)).toBe(id);
  const jobs = await sql`
    select payload from staged_jobs where queue = 'fan-out' and payload ->> 'subjectId' = ${id}`;
  expect(jobs).toMatchObject([{ payload: { event: "PARTNER_OWNED", subjectId: id } }]);
  await fanOutEvent(task({ event: "PARTNER_OWNED", subjectId: id, after: null }));
  const inbox = (await holder.get("/api/v1/notifications")).list;
  expect(inbox).toMatchObject([{ kind: "PARTNER_OWNED", body: expect.stringContaining("откажитесь") }]);
  expect(await sql`select user_id from notifications where partner_id = ${id}::uuid`).toEqual([{ userId }]);

  expect(await decline(holder)).toBe("204");
  expect(outcome(await holder.get("/api/v1/partners/me"))).toBe("403 FORBIDDEN");
  expect(await rowOf(id)).toMatchObject({ ...nobodys, status: "SUSPENDED" });
  expect(await sql`select actor_id, action from audit_events where subject_id = ${id}::uuid`).toEqual([
    { actorId: userId, action: "PARTNER_SUSPEND" },
  ]);
  expect(await decline(holder)).toBe("403 FORBIDDEN");
  expect(outcome(await client.as((await logIn(phone)).string("accessToken")).get("/api/v1/partners/me"))).toBe(
    "403 FORBIDDEN",
  );
});

test("an approved partner can be declined too, and keeps its staff", async () => {
  const [phone, clerk] = [cast.newPhone(), await cast.user(client)];
  const id = await register(phone);
  expect((await admin.client.put(`/api/v1/admin/partners/${id}/approve`)).status).toBe(200);
  const holder = await holderOf(phone);
  const invited = await holder.post("/api/v1/partners/me/staff", { phone: clerk.phone });
  await clerk.client.post(`/api/v1/users/me/invitations/${invited.string("id")}/accept`);
  expect(await decline(clerk.client)).toBe("409 CONFLICT");
  expect(await decline(holder)).toBe("204");
  expect(await rowOf(id)).toMatchObject({ ...nobodys, status: "ACTIVE" });
  expect(await partnerOf(clerk.client)).toBe(id);
});

test("declining gives the next registration with the phone, the approved one first, then the latest", async () => {
  const phone = cast.newPhone();
  const [approved, older, latest] = [await register(phone), await register(phone), await register(phone)];
  expect((await admin.client.put(`/api/v1/admin/partners/${approved}/approve`)).status).toBe(200);
  const holder = await holderOf(phone);
  const owned = [];
  for (let n = 0; n < 3; n += 1) {
    owned.push(await partnerOf(holder));
    expect(await decline(holder)).toBe("204");
  }
  expect(owned).toEqual([approved, latest, older]);
  expect(outcome(await holder.get("/api/v1/partners/me"))).toBe("403 FORBIDDEN");
});

test("a partner that its owner registered with a token cannot be declined", async () => {
  const { owner } = await cast.bakery(client);
  expect(await decline(owner.client)).toBe("409 CONFLICT");
  expect((await owner.client.get("/api/v1/partners/me/status")).body).toMatchObject({ status: "ACTIVE" });
});

test("an owner whom an admin has linked is notified, and may decline", async () => {
  const [{ id }, heir] = [await cast.bakery(client), await cast.user(client)];
  expect((await admin.client.put(`/api/v1/admin/partners/${id}/owner`, { phone: heir.phone })).status).toBe(200);
  const jobs = await sql`
    select payload from staged_jobs
    where queue = 'fan-out' and payload ->> 'subjectId' = ${id} and payload ->> 'event' = 'PARTNER_OWNED'`;
  expect(jobs).toHaveLength(1);
  expect(await decline(heir.client)).toBe("204");
  expect(await rowOf(id)).toMatchObject({ ownerId: null, status: "SUSPENDED" });
});

test("a registration with a token takes the place of those that wait and only name the phone", async () => {
  const phone = cast.newPhone();
  const waiting = [await register(phone), await register(phone)];
  const holder = await holderOf(phone);
  expect(waiting).toContain(await partnerOf(holder));
  const own = await holder.post("/api/v1/partners/register", cast.bakeryProfile);
  expect(own.status).toBe(201);
  expect(await partnerOf(holder)).toBe(own.string("id"));
  for (const id of waiting)
    expect(await rowOf(id)).toMatchObject({ ownerId: null, ownerPhone: null, status: "SUSPENDED" });
  expect(outcome(await holder.post("/api/v1/partners/register", cast.bakeryProfile))).toBe("409 CONFLICT");
});

test("an active partner is not replaced by a registration", async () => {
  const phone = cast.newPhone();
  const id = await register(phone);
  const holder = await holderOf(phone);
  expect((await admin.client.put(`/api/v1/admin/partners/${id}/approve`)).status).toBe(200);
  expect(outcome(await holder.post("/api/v1/partners/register", cast.bakeryProfile))).toBe("409 CONFLICT");
});

test("a rejected registration keeps its owner neither from a partner that names their phone nor from a job", async () => {
  const [phone, other] = [cast.newPhone(), await cast.bakery(client)];
  const rejected = await register(phone);
  let holder = await holderOf(phone);
  await admin.client.put(`/api/v1/admin/partners/${rejected}/reject`);
  expect((await holder.get("/api/v1/partners/me/status")).body).toMatchObject({ status: "REJECTED" });
  const next = await register(phone);
  holder = await holderOf(phone);
  expect(await partnerOf(holder)).toBe(next);

  await admin.client.put(`/api/v1/admin/partners/${next}/reject`);
  const invited = await other.owner.client.post("/api/v1/partners/me/staff", { phone });
  expect(outcome(await holder.post(`/api/v1/users/me/invitations/${invited.string("id")}/accept`))).toBe("200");
  expect(await partnerOf(holder)).toBe(other.id);
});

test("10 concurrent declines, logins and registrations leave a user with one partner", async () => {
  const phone = cast.newPhone();
  for (let n = 0; n < 3; n += 1) await register(phone);
  const holder = await holderOf(phone);
  const replies = await Promise.all([
    ...Array.from({ length: 5 }, () => holder.post("/api/v1/partners/me/decline")),
    ...Array.from({ length: 5 }, () => holder.post("/api/v1/partners/register", cast.bakeryProfile)),
  ]);
  expect(replies.filter(({ status }) => status >= 500)).toEqual([]);
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(await sql`select from partners where owner_phone = ${phone}`).toHaveLength(0);
  const { body: me } = await holder.get("/api/v1/partners/me");
  expect(replies.find(({ status }) => status === 201)?.body["id"]).toBe(me["id"]);
});
