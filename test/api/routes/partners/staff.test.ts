import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client, Reply } from "../../../support/api.js";
import type { Bakery, Character } from "../../../support/cast.js";

const code = "424242";
process.env["OTP_FIXED_CODE"] = code;
process.env["OTP_SENDS_PER_ADDRESS"] = "1000";

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;
let admin: Character;
let bakery: Bakery;
let anna: Character;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
  admin = await cast.admin(client);
});

beforeEach(async () => {
  [bakery, anna] = [await cast.bakery(client), await cast.user(client)];
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const path = "/api/v1/partners/me/staff";
const add = (phone: unknown, by = bakery.owner.client) => by.post(path, { phone });
const list = async (by = bakery.owner.client) => (await by.get(path)).list;
const remove = (id: string, by = bakery.owner.client) => by.delete(`${path}/${id}`);
const works = async (who: Client, id = bakery.id) => (await who.get("/api/v1/partners/me")).body["id"] === id;

/** Signs in with a phone; creates the user at the first login. */
async function logIn(phone: string): Promise<Client> {
  await client.post("/api/v1/auth/otp/send", { phone });
  const tokens = await client.post("/api/v1/auth/otp/verify", { phone, code });
  return client.as(tokens.string("accessToken"));
}

const invitations = async (of: Client) => (await of.get("/api/v1/users/me/invitations")).list;
const accept = (id: string, who: Client) => who.post(`/api/v1/users/me/invitations/${id}/accept`);

describe("staff", () => {
  test("works for the partner from accepting the invitation until removed", async () => {
    await anna.client.put("/api/v1/users/me", { firstName: "Анна" });
    const invited = await add(anna.phone);
    const id = invited.string("id");
    expect([invited.status, invited.body]).toEqual([201, { id, userId: null, phone: anna.phone }]);
    expect(await works(anna.client)).toBe(false);
    const { name } = (await bakery.owner.client.get("/api/v1/partners/me")).body;
    expect(await invitations(anna.client)).toEqual([
      { id, partnerId: bakery.id, partnerName: name, since: expect.any(String) },
    ]);
    const accepted = await accept(id, anna.client);
    expect([accepted.status, accepted.body]).toEqual([200, { partnerId: bakery.id }]);
    expect(await works(anna.client)).toBe(true);
    expect(await invitations(anna.client)).toEqual([]);
    const member = { id: anna.id, userId: anna.id, phone: anna.phone, firstName: "Анна", lastName: null };
    expect(await list()).toEqual([{ ...member, since: expect.any(String) }]);
    expect(await list(anna.client)).toEqual(await list());
    expect(outcome(await remove(anna.id))).toBe("204");
    expect(await works(anna.client)).toBe(false);
    expect(outcome(await remove(anna.id))).toBe("404 NOT_FOUND");
  });

  test("gets the same invitation whether or not the phone has an account, and the answer reveals nothing about it", async () => {
    await anna.client.put("/api/v1/users/me", { firstName: "Анна" });
    const [known, unknown] = [await add(anna.phone), await add(cast.newPhone())];
    const shape = ({ status, body }: Reply) => [status, Object.keys(body), body["userId"]];
    expect(shape(known)).toEqual(shape(unknown));
    expect(await list()).toMatchObject([
      { userId: null, firstName: null },
      { userId: null, firstName: null },
    ]);
  });

  test("without an account accepts after the first login", async () => {
    const phone = cast.newPhone();
    await add(phone);
    const vera = await logIn(phone);
    expect(await works(vera)).toBe(false);
    const [invitation] = await invitations(vera);
    await accept(String(invitation?.["id"]), vera);
    expect(await works(vera)).toBe(true);
  });

  test("may decline, and can be invited again", async () => {
    const id = (await add(anna.phone)).string("id");
    const declined = await anna.client.delete(`/api/v1/users/me/invitations/${id}`);
    expect(outcome(declined)).toBe("204");
    expect([await invitations(anna.client), await list()]).toEqual([[], []]);
    expect(outcome(await accept(id, anna.client))).toBe("404 NOT_FOUND");
  });

  test("cannot accept an invitation that was withdrawn or is for another phone", async () => {
    const id = (await add(anna.phone)).string("id");
    const boris = await cast.user(client);
    expect(outcome(await accept(id, boris.client))).toBe("404 NOT_FOUND");
    expect(outcome(await boris.client.delete(`/api/v1/users/me/invitations/${id}`))).toBe("404 NOT_FOUND");
    expect(outcome(await remove(id))).toBe("204");
    expect(outcome(await accept(id, anna.client))).toBe("404 NOT_FOUND");
  });

  test("keeps one invitation when invited again, also concurrently", async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => add(anna.phone)));
    expect(replies.map(({ status }) => status).sort()).toEqual([...Array<number>(9).fill(200), 201]);
    expect(new Set(replies.map(({ body }) => body["id"])).size).toBe(1);
    expect(await list()).toHaveLength(1);
  });

  test("works for one partner only, and for none while owning one", async () => {
    const other = await cast.bakery(client);
    const ids = [(await add(anna.phone)).string("id"), (await add(anna.phone, other.owner.client)).string("id")];
    const replies = await Promise.all(ids.map((id) => accept(id, anna.client)));
    expect(replies.map(outcome).sort()).toEqual(["200", "409 CONFLICT"]);
    const toOwner = (await add(other.owner.phone)).string("id");
    expect(outcome(await accept(toOwner, other.owner.client))).toBe("409 CONFLICT");
  });

  test("never owns one partner and works for another, in any concurrent sequence", async () => {
    for (let round = 0; round < 5; round += 1) {
      const person = await cast.user(client);
      const id = (await add(person.phone)).string("id");
      const replies = await Promise.all([
        accept(id, person.client),
        person.client.post("/api/v1/partners/register", cast.bakeryProfile),
      ]);
      expect(replies.filter(({ status }) => status < 300)).toHaveLength(1);
    }
  });

  test("is managed by the owner; staff may only leave", async () => {
    const boris = await cast.user(client);
    await cast.join(bakery, anna);
    await cast.join(bakery, boris);
    expect(outcome(await add(cast.newPhone(), anna.client))).toBe("403 FORBIDDEN");
    expect(outcome(await remove(boris.id, anna.client))).toBe("403 FORBIDDEN");
    expect(outcome(await remove(anna.id, anna.client))).toBe("204");
    expect(await works(anna.client)).toBe(false);
    expect(await works(boris.client)).toBe(true);
  });

  test("of another partner cannot be removed", async () => {
    await cast.join(bakery, anna);
    const other = await cast.bakery(client);
    expect(outcome(await remove(anna.id, other.owner.client))).toBe("404 NOT_FOUND");
    expect(await works(anna.client)).toBe(true);
  });

  test.each(["PENDING_REVIEW", "REJECTED", "SUSPENDED"] as const)(
    "cannot be invited by a %s partner",
    async (status) => {
      const { owner } = await cast.bakery(client, status);
      expect(outcome(await add(anna.phone, owner.client))).toBe("403 FORBIDDEN");
    },
  );

  test("is limited to a hundred, invitations included", async () => {
    await sql`
      insert into staff_invitations (partner_id, phone)
      select ${bakery.id}::uuid, '+7000' || lpad(n::text, 7, '0') from generate_series(1, 99) as n`;
    const replies = await Promise.all([add(cast.newPhone()), add(anna.phone)]);
    expect(replies.map(outcome).sort()).toEqual(["201", "409 CONFLICT"]);
  });

  test.each([
    ["a phone of another format", "89991234567"],
    ["no phone", undefined],
  ])("%s: 400 VALIDATION_ERROR", async (_case, phone) => {
    expect(outcome(await add(phone))).toBe("400 VALIDATION_ERROR");
  });
});

describe("PUT /admin/partners/{id}/owner", () => {
  const give = (phone: unknown, id = bakery.id) => admin.client.put(`/api/v1/admin/partners/${id}/owner`, { phone });

  test("makes an account the owner at once, in place of the former one", async () => {
    await cast.join(bakery, anna);
    const given = await give(anna.phone);
    expect([given.status, given.body]).toEqual([
      200,
      { id: bakery.id, name: expect.any(String), status: "ACTIVE", ownerId: anna.id },
    ]);
    expect(await works(bakery.owner.client)).toBe(false);
    expect(await works(anna.client)).toBe(true);
    expect(await list(anna.client)).toEqual([]);
    expect(outcome(await give(anna.phone))).toBe("200");
  });

  test("makes a phone without an account the owner at its first login", async () => {
    const phone = cast.newPhone();
    expect((await give(phone)).body).toMatchObject({ ownerId: null });
    expect(await works(bakery.owner.client)).toBe(false);
    const vera = await logIn(phone);
    expect(await works(vera)).toBe(true);
    expect(outcome(await add(anna.phone, vera))).toBe("201");
  });

  test("makes staff of another partner the owner, and staff no longer", async () => {
    const other = await cast.bakery(client);
    await cast.join(other, anna);
    await give(anna.phone);
    expect(await works(anna.client)).toBe(true);
    expect(await list(other.owner.client)).toEqual([]);
  });

  test("a user who owns or waits for another partner: 409 CONFLICT", async () => {
    const other = await cast.bakery(client);
    expect(outcome(await give(other.owner.phone))).toBe("409 CONFLICT");
    const phone = cast.newPhone();
    await give(phone, other.id);
    expect(outcome(await give(phone))).toBe("409 CONFLICT");
    expect(await works(bakery.owner.client)).toBe(true);
  });

  test("is audited, without the phone", async () => {
    await give(anna.phone);
    const rows = await sql<{ row: string }[]>`
      select a::text as row from audit_events a where subject_id = ${bakery.id}::uuid and action = 'PARTNER_OWNER'`;
    expect(rows).toHaveLength(1);
    expect(rows[0]!.row).toContain(anna.id);
    expect(rows[0]!.row).not.toContain(anna.phone);
  });

  test("refuses invalid input", async () => {
    expect(outcome(await give("7"))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await give(cast.newPhone(), randomUUID()))).toBe("404 NOT_FOUND");
  });
});
