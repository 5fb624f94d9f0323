import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { runHelper, runScript } from "../support/run-script.js";

const newKey = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;
const [former, current, lost] = [newKey("former"), newKey("current"), newKey("lost")];

// this process, like the service, has both keys
process.env["CREDENTIALS_KEYS"] = [current, former].join(",");
const { encryptEnvelope, decryptEnvelope } = await import("../../lib/security/envelope.js");
const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { closeDatabase, sql } = await import("../../sql/db.js");
const { posCredentialsContext, updateEncryptedCredentials } = await import("../../sql/queries/pos-credentials.js");
const { insertWebhookEndpoint, webhookSecretContext } = await import("../../sql/queries/webhooks.js");

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(() => sql`truncate pos_credentials`);

const rotate = (args: string[] = [], keys = [current, former]) =>
  runScript("rotate-credentials", args, { CREDENTIALS_KEYS: keys.join(",") });

/** Inserts credentials of a new partner, encrypted by a process that has only these keys. */
async function keep(keys: string, text = "a secret"): Promise<string> {
  const { id } = await cast.bakery(api.client);
  const { output } = await runHelper("encrypt-envelope", [text, posCredentialsContext(id)], { CREDENTIALS_KEYS: keys });
  await sql`
    insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
    values (${id}::uuid, 'generic', ${randomUUID()}, ${output}, now())`;
  return id;
}

const kept = async (partnerId: string) =>
  (await sql<{ encrypted: string }[]>`select encrypted from pos_credentials where partner_id = ${partnerId}::uuid`)[0]!
    .encrypted;

test("encrypts under the current key what is under a former one, and leaves the rest as it is", async () => {
  const [old, young] = [await keep(former), await keep(current)];
  const before = await kept(young);
  expect((await kept(old)).startsWith("former.")).toBe(true);
  expect(await rotate()).toEqual({ code: 0, output: "1 partner's credentials are now encrypted under current.\n" });
  expect((await kept(old)).startsWith("current.")).toBe(true);
  expect(decryptEnvelope(await kept(old), posCredentialsContext(old))).toBe("a secret");
  expect(await kept(young)).toBe(before);
  // the former key can be removed
  expect(await rotate([], [current])).toEqual({
    code: 0,
    output: "There is nothing to rotate: all credentials are encrypted under current.\n",
  });
});

test("names the credentials that it cannot decrypt, and leaves them as they are", async () => {
  const [unreadable, old] = [await keep(lost), await keep(former)];
  const before = await kept(unreadable);
  const { code, output } = await rotate();
  expect(code).toBe(1);
  expect(output).toContain("1 partner's credentials are now encrypted under current.");
  expect(output).toContain(`1 cannot be decrypted with any of CREDENTIALS_KEYS; enter them again: ${unreadable}`);
  expect(await kept(unreadable)).toBe(before);
  expect((await kept(old)).startsWith("current.")).toBe(true);
});

test("does not overwrite credentials that changed meanwhile", async () => {
  const id = await keep(former);
  const before = await kept(id);
  const context = posCredentialsContext(id);
  await sql`update pos_credentials set encrypted = ${encryptEnvelope("another", context)} where partner_id = ${id}::uuid`;
  expect(
    await updateEncryptedCredentials(sql, { partnerId: id, encrypted: before }, encryptEnvelope("a secret", context)),
  ).toBe(false);
  expect(decryptEnvelope(await kept(id), context)).toBe("another");
});

test("encrypts the secrets of webhook endpoints, too, also those that are being replaced", async () => {
  const id = randomUUID();
  const under = async (text: string) =>
    (await runHelper("encrypt-envelope", [text, webhookSecretContext(id)], { CREDENTIALS_KEYS: former })).output;
  await insertWebhookEndpoint(sql, {
    id,
    partnerId: null,
    apiKeyId: null,
    url: "https://example.com",
    description: null,
    types: null,
    secret: await under("new"),
  });
  await sql`
    update webhook_endpoints set old_secret = ${await under("old")}, old_secret_until = now() where id = ${id}::uuid`;
  expect(await rotate()).toEqual({ code: 0, output: "1 webhook endpoints have their secrets under current now.\n" });
  const [row] = await sql<{ secret: string; old: string }[]>`
    select secret, old_secret as old from webhook_endpoints where id = ${id}::uuid`;
  expect([row!.secret, row!.old].map((envelope) => envelope.split(".")[0])).toEqual(["current", "current"]);
  expect([row!.secret, row!.old].map((envelope) => decryptEnvelope(envelope, webhookSecretContext(id)))).toEqual([
    "new",
    "old",
  ]);
  await sql`delete from webhook_endpoints`;
});

test("takes no arguments", async () => {
  expect(await rotate(["all"])).toEqual({
    code: 1,
    output: "Usage: npm run rotate-credentials; it takes no arguments\n",
  });
});
