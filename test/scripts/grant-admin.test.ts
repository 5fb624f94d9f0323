import { afterAll, expect, test } from "@jest/globals";
import { newServiceId } from "../../lib/domain/service-id.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { runScript } from "../support/run-script.js";

const phone = "+79990000002";

afterAll(closeDatabase);

const grantAdmin = (args: string[], env: NodeJS.ProcessEnv = {}) => runScript("grant-admin", args, env);

const isAdmin = async () =>
  (await sql<{ isAdmin: boolean }[]>`select is_admin as "isAdmin" from users where phone = ${phone}`)[0]?.isAdmin;

test("grants and revokes the admin role", async () => {
  expect(await grantAdmin([phone])).toEqual({
    code: 1,
    output: `No user has the phone ${phone}. A user must log in before you can grant the role.\n`,
  });
  await sql`insert into users (service_id, phone) values (${newServiceId()}, ${phone})`;
  expect(await grantAdmin([phone])).toEqual({ code: 0, output: `${phone} is an admin now.\n` });
  expect(await isAdmin()).toBe(true);
  expect(await grantAdmin([phone, "--revoke"])).toEqual({ code: 0, output: `${phone} is no longer an admin.\n` });
  expect(await isAdmin()).toBe(false);
  expect(await grantAdmin([phone, "--revoke"])).toEqual({ code: 1, output: `${phone} is not an admin.\n` });
  const named = await grantAdmin([phone, "--revoke"], { ADMIN_PHONES: phone });
  expect(named).toEqual({ code: 1, output: expect.stringContaining("ADMIN_PHONES") });
});

test("grants and revokes a look at the operators' console", async () => {
  await sql`
    insert into users (service_id, phone) values (${newServiceId()}, ${phone}) on conflict do nothing`;
  const isObserver = async () =>
    (await sql<{ isObserver: boolean }[]>`select is_observer from users where phone = ${phone}`)[0]?.isObserver;
  expect(await grantAdmin([phone, "--read-only"])).toEqual({ code: 0, output: `${phone} is an observer now.\n` });
  expect([await isObserver(), await isAdmin()]).toEqual([true, false]);
  expect(await grantAdmin([phone, "--read-only", "--revoke"])).toMatchObject({ code: 0 });
  expect(await isObserver()).toBe(false);
  expect(await grantAdmin([phone, "--read-only", "--revoke"])).toEqual({
    code: 1,
    output: `${phone} is not an observer.\n`,
  });
  await sql`update users set is_admin = true where phone = ${phone}`;
  expect(await grantAdmin([phone, "--read-only"])).toEqual({
    code: 0,
    output: `${phone} is an observer now, and an admin still, who may act on the console.\n`,
  });
});

test.each([[], ["79990000002"], [phone, phone], [phone, "--remove"]])(
  "wrong arguments (%s %s) show the usage",
  async (...args) => {
    expect(await grantAdmin(args)).toEqual({ code: 1, output: expect.stringMatching(/^Usage: [^\n]*\n$/) });
  },
);
