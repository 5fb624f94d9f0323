import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { deleteStaff } from "../../../../sql/queries/staff.js";
import { outcome, startApi, type Client, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { countBlocked, lockRows } from "../../../support/locks.js";
import { until } from "../../../support/until.js";

let client: Client;
let stop: () => Promise<void>;
let admin: cast.Character;
let bakery: cast.Bakery;
let anna: cast.Character;
let boris: cast.Character;

beforeAll(async () => {
  ({ client, stop } = await startApi());
  admin = await cast.admin(client);
});

beforeEach(async () => {
  bakery = await cast.bakery(client);
  [anna, boris] = [await cast.user(client), await cast.user(client)];
  await cast.join(bakery, anna);
});

afterAll(async () => {
  await stop();
  await closeDatabase();
});

const deleteAccount = (who: cast.Character) => who.client.delete("/api/v1/users/me");
const leave = (who: cast.Character) => who.client.delete(`/api/v1/partners/me/staff/${who.id}`);
const give = (partnerId: string, phone: string) =>
  admin.client.put(`/api/v1/admin/partners/${partnerId}/owner`, { phone });

const statusOf = async ({ id }: cast.Bakery) => {
  const [row] = await sql<{ status: string }[]>`select status::text as status from partners where id = ${id}::uuid`;
  return row?.status;
};
const suspensions = ({ id }: cast.Bakery) =>
  sql`
    select actor_id, details from audit_events
    where subject_id = ${id}::uuid and action = 'PARTNER_SUSPEND'`;

const departures: [string, (who: cast.Character) => Promise<Reply>, () => cast.Character][] = [
  ["deletes the account", deleteAccount, () => anna],
  ["leaves", leave, () => anna],
  ["is made the owner of another partner", async (who) => give((await cast.bakery(client)).id, who.phone), () => admin],
];

describe("a partner whose owner has deleted the account", () => {
  test.each(departures)("is suspended when the last of its staff %s", async (_how, depart, actor) => {
    await cast.join(bakery, boris);
    await deleteAccount(bakery.owner);
    await leave(boris);
    expect([await statusOf(bakery), await suspensions(bakery)]).toEqual(["ACTIVE", []]);
    expect((await depart(anna)).status).toBeLessThan(300);
    expect(await statusOf(bakery)).toBe("SUSPENDED");
    const details = { reason: "Its last member has left." };
    expect(await suspensions(bakery)).toEqual([{ actorId: actor().id, details }]);
  });

  test("stays as it is when its last clerk becomes its owner", async () => {
    await deleteAccount(bakery.owner);
    expect(outcome(await give(bakery.id, anna.phone))).toBe("200");
    expect([await statusOf(bakery), await suspensions(bakery)]).toEqual(["ACTIVE", []]);
  });

  test("stays as it is when it waits for a new owner's first login", async () => {
    await deleteAccount(bakery.owner);
    await give(bakery.id, cast.newPhone());
    await leave(anna);
    expect([await statusOf(bakery), await suspensions(bakery)]).toEqual(["ACTIVE", []]);
  });

  test("stays as it is, however its staff leaves, when an admin has decided on it", async () => {
    await deleteAccount(bakery.owner);
    await admin.client.put(`/api/v1/admin/partners/${bakery.id}/suspend`, { reason: "Жалобы" });
    await leave(anna);
    expect(await suspensions(bakery)).toMatchObject([{ actorId: admin.id }]);
  });
});

test.each(departures)("a partner with an owner stays active when its last clerk %s", async (_how, depart) => {
  expect((await depart(anna)).status).toBeLessThan(300);
  expect(await statusOf(bakery)).toBe("ACTIVE");
});

describe("while the removal of a clerk has not committed", () => {
  /** Begins the departure before the removal of a clerk commits, for which it waits. */
  async function duringRemovalOf({ id }: cast.Character, depart: () => Promise<Reply>): Promise<Reply> {
    const commit = await lockRows((tx) => deleteStaff(tx, bakery.id, id, id));
    const departed = depart();
    await Promise.race([departed, until(async () => (await countBlocked()) === 1)]);
    await commit();
    return departed;
  }

  test("the owner who deletes the account leaves nobody behind", async () => {
    const deleted = await duringRemovalOf(anna, () => deleteAccount(bakery.owner));
    expect([outcome(deleted), await statusOf(bakery)]).toEqual(["204", "SUSPENDED"]);
  });

  test.each(departures)("another one, the last, %s", async (_how, depart) => {
    await cast.join(bakery, boris);
    await deleteAccount(bakery.owner);
    const departed = await duringRemovalOf(anna, () => depart(boris));
    expect(departed.status).toBeLessThan(300);
    expect([await statusOf(bakery), await suspensions(bakery)]).toMatchObject(["SUSPENDED", [{}]]);
  });
});

test("a member may delete the account while the owner removes them", async () => {
  const replies = await Promise.all([
    deleteAccount(anna),
    bakery.owner.client.delete(`/api/v1/partners/me/staff/${anna.id}`),
  ]);
  expect(replies.map(outcome)).toEqual(["204", expect.stringMatching(/^(204|404 NOT_FOUND)$/)]);
});

test("two partners' clerks who become each other's owners at once: both do", async () => {
  const other = await cast.bakery(client);
  await cast.join(other, boris);
  const replies = await Promise.all([give(other.id, anna.phone), give(bakery.id, boris.phone)]);
  expect(replies.map(outcome)).toEqual(["200", "200"]);
  expect([await statusOf(bakery), await statusOf(other)]).toEqual(["ACTIVE", "ACTIVE"]);
});
