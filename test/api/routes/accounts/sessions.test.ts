import { afterAll, describe, expect, test } from "@jest/globals";
import { decodeJwt } from "jose";
import type { Reply } from "../../../support/api.js";

const adminPhone = "+79990000001";
process.env["ADMIN_PHONES"] = adminPhone;
process.env["TRUST_PROXY"] = "1";

const { bakery, bakeryProfile, listBox, newPhone } = await import("../../../support/cast.js");
const { outcome } = await import("../../../support/api.js");
const { stockOf } = await import("../../../support/orders.js");
const { tally, times, startLogins } = await import("../../../support/logins.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

const { client, stop, refresh, logout, logIn } = await startLogins();

afterAll(async () => {
  await stop();
  await closeDatabase();
});

const ageRotation = (interval: string) =>
  sql`update refresh_tokens set rotated_at = rotated_at - ${interval}::interval where rotated_at is not null`;

describe("roles at login", () => {
  const scopeOf = (reply: Reply) => decodeJwt(reply.string("accessToken"))["scope"];

  test("a customer is a USER", async () => {
    const claims = decodeJwt((await logIn(newPhone())).string("accessToken"));
    expect(claims["scope"]).toBe("USER");
    expect(claims).not.toHaveProperty("partnerId");
  });

  test("a phone in ADMIN_PHONES is an admin", async () => {
    const reply = await logIn(adminPhone);
    expect(scopeOf(reply)).toBe("USER ADMIN");
    expect(outcome(await client.as(reply.string("accessToken")).get("/api/v1/admin/partners"))).toBe("200");
  });

  test("a granted admin role takes effect at once and in the next token, and so does its revocation", async () => {
    const { updateAdmin } = await import("../../../../sql/queries/users.js");
    const phone = newPhone();
    const tokens = await logIn(phone);
    const caller = client.as(tokens.string("accessToken"));
    expect(outcome(await caller.get("/api/v1/admin/partners"))).toBe("403 FORBIDDEN");
    expect(await updateAdmin(sql, phone, true)).toBe(false);
    expect(outcome(await caller.get("/api/v1/admin/partners"))).toBe("200");
    expect(scopeOf(await refresh(tokens.string("refreshToken")))).toBe("USER ADMIN");
    expect(await updateAdmin(sql, phone, false)).toBe(true);
    expect(outcome(await caller.get("/api/v1/admin/partners"))).toBe("403 FORBIDDEN");
    expect(await updateAdmin(sql, newPhone(), true)).toBeUndefined();
  });

  test("a phone's first login makes the user owner of the partner that waits for it, and of no second one", async () => {
    const phone = newPhone();
    const register = async () =>
      (await client.post("/api/v1/partners/register", { ...bakeryProfile, phone })).string("id");
    const rejected = await register();
    await sql`update partners set status = 'REJECTED' where id = ${rejected}::uuid`;
    const waiting = await register();
    const reply = await logIn(phone);
    const claims = decodeJwt(reply.string("accessToken"));
    expect(claims).toMatchObject({ scope: "USER PARTNER", partnerId: waiting });
    expect(outcome(await client.as(reply.string("accessToken")).get("/api/v1/partners/me/status"))).toBe("200");

    await logIn(phone);
    const owners = await sql<{ ownerId: string | null }[]>`
      select owner_id as "ownerId" from partners where id = any (${[rejected, waiting]}::uuid[]) order by id`;
    expect(owners.map(({ ownerId }) => ownerId)).toEqual([null, claims.sub]);
  });

  test("a partner registered after its owner's first login is linked at the next login", async () => {
    const phone = newPhone();
    await logIn(phone);
    await client.post("/api/v1/partners/register", { ...bakeryProfile, phone });
    expect(scopeOf(await logIn(phone))).toBe("USER PARTNER");
  });

  test("staff get the role of their partner", async () => {
    const phone = newPhone();
    const { sub = "" } = decodeJwt((await logIn(phone)).string("accessToken"));
    const partnerId = (await client.post("/api/v1/partners/register", bakeryProfile)).string("id");
    await sql`insert into partner_staff (user_id, partner_id) values (${sub}::uuid, ${partnerId}::uuid)`;
    expect(decodeJwt((await logIn(phone)).string("accessToken"))).toMatchObject({ scope: "USER PARTNER", partnerId });
  });
});

describe("POST /auth/token/refresh", () => {
  test("returns new tokens for the same user, repeatedly", async () => {
    const login = await logIn(newPhone());
    const seen = new Set<string>();
    let token = login.string("refreshToken");
    while (seen.size < 4) {
      seen.add(token);
      const reply = await refresh(token);
      expect(outcome(reply)).toBe("200");
      expect(reply.body).toMatchObject({ tokenType: "Bearer", expiresIn: 900 });
      expect(decodeJwt(reply.string("accessToken")).sub).toBe(decodeJwt(login.string("accessToken")).sub);
      token = reply.string("refreshToken");
      expect(seen.has(token)).toBe(false);
    }
  });

  test("returns the same successor once more within 10 seconds, but not a third time", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const first = await refresh(token);
    const second = await refresh(token);
    expect(second.string("refreshToken")).toBe(first.string("refreshToken"));
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(first.string("refreshToken")))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("the successor from a repeated refresh can be used", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    await refresh(token);
    const answer = await refresh(token);
    expect(outcome(await refresh(answer.string("refreshToken")))).toBe("200");
  });

  test("a stolen token used after 10 seconds ends that session, and no other", async () => {
    const phone = newPhone();
    const other = (await logIn(phone)).string("refreshToken");
    const stolen = (await logIn(phone)).string("refreshToken");
    const successor = (await refresh(stolen)).string("refreshToken");
    await ageRotation("11 seconds");
    expect(outcome(await refresh(stolen))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(successor))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(other))).toBe("200");
  });

  test("reusing a token whose successor was used ends the session at once", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const second = (await refresh(token)).string("refreshToken");
    const third = (await refresh(second)).string("refreshToken");
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(third))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("20 concurrent refreshes: one exchange, one repetition, then the session ends", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const replies = await Promise.all(times(20, () => refresh(token)));
    expect(tally(replies)).toEqual({ "200": 2, "401 INVALID_REFRESH_TOKEN": 18 });
    const [first, second] = replies.filter(({ status }) => status === 200).map((reply) => reply.string("refreshToken"));
    expect(first).toBe(second);
    expect(outcome(await refresh(first ?? ""))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("two concurrent refreshes get the same successor, and the session continues", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const [first, second] = await Promise.all([refresh(token), refresh(token)]);
    expect(first.string("refreshToken")).toBe(second.string("refreshToken"));
    expect(outcome(await refresh(first.string("refreshToken")))).toBe("200");
  });

  test("a token is valid for 30 days", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    await sql`update refresh_tokens set expires_at = expires_at - interval '30 days' + interval '1 minute' where rotated_at is null`;
    const successor = (await refresh(token)).string("refreshToken");
    await sql`update refresh_tokens set expires_at = expires_at - interval '30 days' where rotated_at is null`;
    expect(outcome(await refresh(successor))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("a deleted account gets no new tokens", async () => {
    const phone = newPhone();
    const token = (await logIn(phone)).string("refreshToken");
    await sql`update users set deleted_at = now() where phone = ${phone}`;
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("unknown tokens, among them access tokens: 401 INVALID_REFRESH_TOKEN", async () => {
    const login = await logIn(newPhone());
    const unknown = [
      "x",
      "\u0000",
      "\ud800",
      Buffer.alloc(32).toString("base64url"),
      `${login.string("refreshToken")}=`,
      login.string("accessToken").slice(0, 500),
    ];
    for (const token of unknown) expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
    expect(outcome(await refresh(login.string("refreshToken")))).toBe("200");
  });

  test.each([
    ["an empty body", {}],
    ["an empty token", { refreshToken: "" }],
    ["a number", { refreshToken: 1 }],
    ["null", { refreshToken: null }],
  ])("%s: 400 BAD_REQUEST", async (_name, body) => {
    expect(outcome(await client.post("/api/v1/auth/token/refresh", body))).toBe("400 BAD_REQUEST");
    expect(outcome(await client.post("/api/v1/auth/logout", body))).toBe("400 BAD_REQUEST");
  });
});

describe("POST /auth/logout", () => {
  test("ends the session; a second time: 400 INVALID_TOKEN", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    expect(outcome(await logout(token))).toBe("204");
    expect(outcome(await logout(token))).toBe("400 INVALID_TOKEN");
    expect(outcome(await refresh(token))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("voids the session's access tokens at once, and those of no other session", async () => {
    const phone = newPhone();
    const [here, there] = [await logIn(phone), await logIn(phone)];
    const later = await refresh(here.string("refreshToken"));
    const meOf = async (tokens: Reply) =>
      outcome(await client.as(tokens.string("accessToken")).get("/api/v1/users/me"));
    expect(await Promise.all([here, later, there].map(meOf))).toEqual(["200", "200", "200"]);
    await logout(later.string("refreshToken"));
    expect(await Promise.all([here, later, there].map(meOf))).toEqual(["401 UNAUTHORIZED", "401 UNAUTHORIZED", "200"]);
    const as = client.as(later.string("accessToken"));
    for (const path of ["/partners/me", "/admin/partners", "/ads/banners?placement=home-top"])
      expect(outcome(await as.get(`/api/v1${path}`))).toBe("401 UNAUTHORIZED");
    expect(outcome(await as.post("/api/v1/partners/register", bakeryProfile))).toBe("401 UNAUTHORIZED");
  });

  test("is found out by the statement of an order itself, before all else that is wrong with it", async () => {
    const shop = await bakery(client);
    const box = await listBox(shop, { price: 1, quantity: 2 });
    const valid = { items: [{ menuItemId: box, qty: 1 }], totalAmount: 1, partnerId: shop.id };
    const session = await logIn(newPhone());
    const as = client.as(session.string("accessToken"));
    const place = async (body: object, key: string) =>
      outcome(await as.post("/api/v1/orders", body, { headers: { "idempotency-key": key } }));
    expect(await place(valid, "placed")).toBe("201");
    await logout(session.string("refreshToken"));
    const invalid = [{}, { ...valid, totalAmount: 2 }, { ...valid, partnerId: box }, { address: "x".repeat(20_000) }];
    for (const body of [valid, ...invalid]) expect(await place(body, "new")).toBe("401 UNAUTHORIZED");
    for (const body of [valid, ...invalid]) expect(await place(body, "placed")).toBe("401 UNAUTHORIZED");
    expect(await stockOf(box)).toMatchObject({ available: 1, reserved: 1 });
  });

  test("succeeds once for 20 concurrent requests", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const replies = await Promise.all(times(20, () => logout(token)));
    expect(tally(replies)).toEqual({ "204": 1, "400 INVALID_TOKEN": 19 });
  });

  test("keeps the user's other sessions", async () => {
    const phone = newPhone();
    const here = (await logIn(phone)).string("refreshToken");
    const there = (await logIn(phone)).string("refreshToken");
    await logout(here);
    expect(outcome(await refresh(there))).toBe("200");
  });

  test("ends the session also by a token that was exchanged before", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const successor = (await refresh(token)).string("refreshToken");
    expect(outcome(await logout(token))).toBe("400 INVALID_TOKEN");
    expect(outcome(await refresh(successor))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("leaves no session behind when it races with a refresh", async () => {
    const token = (await logIn(newPhone())).string("refreshToken");
    const [left, refreshed] = await Promise.all([logout(token), refresh(token)]);
    expect(["204", "400 INVALID_TOKEN"]).toContain(outcome(left));
    if (refreshed.status === 200)
      expect(outcome(await refresh(refreshed.string("refreshToken")))).toBe("401 INVALID_REFRESH_TOKEN");
  });

  test("unknown tokens: 400 INVALID_TOKEN", async () => {
    expect(outcome(await logout("unknown"))).toBe("400 INVALID_TOKEN");
  });
});

describe("the daily purge", () => {
  test("deletes expired tokens and sessions without tokens, and keeps live ones", async () => {
    const { deleteExpiredRefreshTokens } = await import("../../../../sql/queries/sessions.js");
    const phone = newPhone();
    const live = (await logIn(phone)).string("refreshToken");
    const other = newPhone();
    await logIn(other);
    const sessionsOf = (of: string) => sql`
      select sessions.id from sessions join users on users.id = sessions.user_id where phone = ${of}`;
    await sql`
      update refresh_tokens set expires_at = now() - interval '1 second'
      where session_id in (select sessions.id from sessions join users on users.id = sessions.user_id where phone = ${other})`;
    // a session with one expired and one valid token stays
    const successor = (await refresh(live)).string("refreshToken");
    await sql`update refresh_tokens set expires_at = now() - interval '1 second' where rotated_at is not null`;

    expect(await deleteExpiredRefreshTokens(sql, 1_000)).toBeGreaterThanOrEqual(2);
    expect(await deleteExpiredRefreshTokens(sql, 1_000)).toBe(0);
    expect(await sessionsOf(other)).toHaveLength(0);
    expect(await sessionsOf(phone)).toHaveLength(1);
    expect(outcome(await refresh(successor))).toBe("200");
  });
});
