import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import type { Bakery, Character } from "../../../support/cast.js";
import { newSecret, startTill, type Till } from "../../../support/till.js";
import { until } from "../../../support/until.js";

process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { decryptEnvelope } = await import("../../../../lib/security/envelope.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { closeSignals } = await import("../../../../sql/signals.js");
const { posCredentialsContext } = await import("../../../../sql/queries/pos-credentials.js");

let api: Awaited<ReturnType<typeof startApi>>;
let till: Till;
let admin: Character;
let bakery: Bakery;

beforeAll(async () => {
  api = await startApi();
  till = await startTill();
  admin = await cast.admin(api.client);
  bakery = await cast.bakery(api.client);
});

afterAll(async () => {
  await api.stop();
  await till.stop();
  await closeSignals();
  await closeDatabase();
});

const newAccount = () => `corner-bakery-${randomUUID()}`;

const connect = (credentialsJson: string, fields: Record<string, unknown> = {}) =>
  admin.client.put("/api/v1/pos/credentials", {
    partnerId: bakery.id,
    adapterName: "generic",
    credentialsJson,
    ...fields,
  });

const tryOut = (credentialsJson: string, fields: Record<string, unknown> = {}) =>
  bakery.owner.client.post("/api/v1/pos/test-connection", { adapterName: "generic", credentialsJson, ...fields });

interface Kept {
  adapter: string;
  account: string;
  encrypted: string;
}

const kept = async (partnerId: string) =>
  (await sql<Kept[]>`select adapter, account, encrypted from pos_credentials where partner_id = ${partnerId}::uuid`)[0];

test("partners and admins can list the adapters and the schemas of their credentials", async () => {
  for (const { client } of [bakery.owner, admin]) {
    const { status, list } = await client.get("/api/v1/pos/adapters");
    expect(status).toBe(200);
    const generic = list.find(({ name }) => name === "generic");
    expect(generic).toEqual({
      name: "generic",
      displayName: expect.any(String),
      webhooks: true,
      credentialsSchema: expect.objectContaining({
        type: "object",
        properties: expect.objectContaining({ accountId: expect.anything(), token: expect.anything() }),
        required: expect.arrayContaining(["accountId", "token"]),
      }),
    });
  }
});

describe("the two ways to log in to iiko", () => {
  const Alternative = z.object({
    title: z.string(),
    properties: z.record(z.string(), z.unknown()),
    required: z.array(z.string()),
  });
  const Adapters = z.array(z.looseObject({ credentialsSchema: z.looseObject({ anyOf: z.array(Alternative) }) }));

  test("are published as alternatives: a form that fills in the fields of either is accepted", async () => {
    const { list } = await admin.client.get("/api/v1/pos/adapters");
    const [iiko] = Adapters.parse(list.filter(({ name }) => name === "iiko"));
    const forms = iiko!.credentialsSchema.anyOf;
    expect(forms.map(({ title }) => title)).toEqual(["API login", "Application"]);
    for (const { properties, required } of forms) {
      for (const names of [required, Object.keys(properties)]) {
        const filledIn = Object.fromEntries(names.map((name) => [name, `value-${randomUUID()}`]));
        const saved = await connect(JSON.stringify(filledIn), { adapterName: "iiko" });
        expect([saved.status, saved.body]).toEqual([200, { partnerId: bakery.id, adapterName: "iiko" }]);
      }
    }
  });

  test.each<[Record<string, string>, string[]]>([
    [{}, ["apiLogin: is missing"]],
    [{ appId: "a" }, ["clientSecret: is missing", "apiKey: is missing"]],
    [{ apiLogin: "a", apiKey: "c" }, ["apiKey: is not a field of these credentials"]],
  ])("are not mixed: of %j the faults of the way that was meant are named", async (fields, faults) => {
    const refused = await connect(JSON.stringify({ organizationId: "o", ...fields }), { adapterName: "iiko" });
    expect(outcome(refused)).toBe("400 INVALID_CREDENTIALS");
    const errors = faults.map((fault) => {
      const [name = "", message = ""] = fault.split(": ");
      return { path: `credentialsJson.${name}`, message };
    });
    expect(refused.body["errors"]).toEqual(errors);
  });
});

describe("credentials", () => {
  test("are stored encrypted for their partner alone, and are never shown", async () => {
    const [account, webhookSecret] = [newAccount(), newSecret()];
    const credentials = till.credentials(account, { webhookSecret });
    const saved = await connect(credentials);
    expect([saved.status, saved.body]).toEqual([200, { partnerId: bakery.id, adapterName: "generic" }]);
    const row = await kept(bakery.id);
    expect(row).toMatchObject({ adapter: "generic", account });
    expect(row?.encrypted).not.toContain(till.token);
    const context = posCredentialsContext(bakery.id);
    expect(JSON.parse(decryptEnvelope(row!.encrypted, context))).toEqual(JSON.parse(credentials));
    expect(() => decryptEnvelope(row!.encrypted, posCredentialsContext(randomUUID()))).toThrow();
  });

  test("replace earlier ones, and reset the revision of the menu", async () => {
    await connect(till.credentials(newAccount()));
    await sql`update pos_credentials set revision = '17' where partner_id = ${bakery.id}::uuid`;
    const account = newAccount();
    expect((await connect(till.credentials(account))).status).toBe(200);
    expect(
      await sql`select account, revision from pos_credentials where partner_id = ${bakery.id}::uuid`,
    ).toMatchObject([{ account, revision: null }]);
  });

  test("are audited with the admin, without their values", async () => {
    const account = newAccount();
    await connect(till.credentials(account));
    const [event] = await sql<{ actorId: string; details: unknown }[]>`
      select actor_id as "actorId", details from audit_events
      where action = 'POS_CREDENTIALS' and subject_id = ${bakery.id}::uuid order by id desc limit 1`;
    expect(event).toEqual({ actorId: admin.id, details: { adapter: "generic" } });
  });

  test("can be deleted, which is audited and ends the open sync; after that there is nothing to sync", async () => {
    const connected = await cast.bakery(api.client);
    await connect(till.credentials(newAccount()), { partnerId: connected.id });
    const syncs = "/api/v1/menu/pos/sync";
    const waiting = connected.owner.client.post(syncs);
    const open = () => sql`select from pos_syncs where partner_id = ${connected.id}::uuid and settled_at is null`;
    await until(async () => (await open()).length === 1);
    const disconnect = () => admin.client.delete(`/api/v1/pos/credentials/${connected.id}`);
    expect(outcome(await disconnect())).toBe("204");
    expect(outcome(await waiting)).toBe("409 CONFLICT");
    expect((await open()).length).toBe(0);
    expect(await kept(connected.id)).toBeUndefined();
    expect(outcome(await connected.owner.client.post(syncs))).toBe("409 CONFLICT");
    expect(outcome(await disconnect())).toBe("404 NOT_FOUND");
    const records = await sql<{ actor: string }[]>`
      select actor_id as actor from audit_events
      where action = 'POS_CREDENTIALS_DELETE' and subject_id = ${connected.id}::uuid`;
    expect(records).toEqual([{ actor: admin.id }]);
  });

  test("make the menu due for the next scheduled sync", async () => {
    const connected = await cast.bakery(api.client);
    await connect(till.credentials(newAccount()), { partnerId: connected.id });
    const due =
      await sql`select from pos_credentials where partner_id = ${connected.id}::uuid and next_sync_at <= now()`;
    expect(due).toHaveLength(1);
  });

  test("of an account that another partner has: 409 CONFLICT", async () => {
    const credentials = till.credentials(newAccount());
    await connect(credentials);
    const other = await cast.bakery(api.client);
    expect(outcome(await connect(credentials, { partnerId: other.id }))).toBe("409 CONFLICT");
    expect(await kept(other.id)).toBeUndefined();
    expect((await connect(credentials)).status).toBe(200);
  });

  test("of an unknown partner: 404 NOT_FOUND; of an unknown adapter: 400 VALIDATION_ERROR", async () => {
    const credentials = till.credentials(newAccount());
    expect(outcome(await connect(credentials, { partnerId: randomUUID() }))).toBe("404 NOT_FOUND");
    for (const send of [connect, tryOut])
      expect(outcome(await send(credentials, { adapterName: "abacus" }))).toBe("400 VALIDATION_ERROR");
  });

  test.each([
    ["not JSON", "{secret-token-4711"],
    ["not an object", '"secret-token-4711"'],
    ["null", "null"],
    ["missing a field", '{"token":"secret-token-4711"}'],
    ["wrong in a field's type", '{"accountId":{"x":"secret-token-4711"},"token":7}'],
    ["extended by an unknown field", '{"secret-token-4711":1}'],
  ])("that are %s: 400 INVALID_CREDENTIALS, and the answer does not repeat them", async (_what, credentials) => {
    for (const send of [connect, tryOut]) {
      const refused = await send(credentials);
      expect(outcome(refused)).toBe("400 INVALID_CREDENTIALS");
      expect(refused.text).not.toContain("secret-token");
    }
  });

  test("with invalid fields are refused with the names of the fields", async () => {
    const refused = await connect(till.credentials(newAccount(), { accountId: undefined, token: 7 }));
    const paths = (refused.body["errors"] as { path: string }[]).map(({ path }) => path);
    expect(paths.sort()).toEqual(["credentialsJson.accountId", "credentialsJson.token"]);
  });

  test.each<[string, Record<string, unknown>, { path: string; message: string }[]]>([
    [
      "missing, or of another type",
      { accountId: undefined, token: 7 },
      [
        { path: "credentialsJson.accountId", message: "is missing" },
        { path: "credentialsJson.token", message: "must be text" },
      ],
    ],
    [
      "misspelt",
      { webhook_secret: "secret-4711", apiKey: "4711" },
      ["apiKey", "webhook_secret"].map((field) => ({
        path: `credentialsJson.${field}`,
        message: "is not a field of these credentials",
      })),
    ],
    [
      "where a value belongs",
      { "secret-4711": 1, region: "x" },
      [
        { path: "credentialsJson", message: "has fields that these credentials do not have" },
        { path: "credentialsJson.region", message: "is not a field of these credentials" },
      ],
    ],
    [
      "of another format",
      { baseUrl: "https://pos.example.com?key=secret-token", webhookSecret: "secret-token" },
      [
        { path: "credentialsJson.baseUrl", message: "must be an https address without user, password, `?` and `#`" },
        { path: "credentialsJson.webhookSecret", message: "must be `whsec_` and 24 bytes or more in base64" },
      ],
    ],
  ])("with fields that are %s: each is named, without its value", async (_what, fields, errors) => {
    for (const send of [connect, tryOut]) {
      const refused = await send(till.credentials(newAccount(), fields));
      expect(outcome(refused)).toBe("400 INVALID_CREDENTIALS");
      const found = refused.body["errors"] as { path: string; message: string }[];
      expect(found.sort((one, other) => one.path.localeCompare(other.path))).toEqual(errors);
      for (const { path, message } of errors) expect(refused.body["detail"]).toContain(`${path}: ${message}`);
      expect(refused.text).not.toContain("secret-token");
    }
  });

  test("must be an object, as text", async () => {
    const list = await connect("[]");
    expect(list.body["errors"]).toEqual([{ path: "credentialsJson", message: "must be an object" }]);
    const object = await admin.client.put("/api/v1/pos/credentials", {
      partnerId: bakery.id,
      adapterName: "generic",
      credentialsJson: {},
    });
    expect(outcome(object)).toBe("400 VALIDATION_ERROR");
    expect(object.body["errors"]).toEqual([{ path: "credentialsJson", message: "must be text" }]);
  });
});

describe("testing a connection", () => {
  test("says whether the credentials work, or why not, and stores nothing", async () => {
    const contents = () => sql`select p::text from pos_credentials p union all select a::text from audit_events a`;
    const before = await contents();
    const works = await tryOut(till.credentials(newAccount()));
    expect([works.status, works.body["ok"]]).toEqual([200, true]);
    const refused = await tryOut(till.credentials(newAccount(), { token: "another" }));
    expect([refused.status, refused.body["ok"]]).toEqual([200, false]);
    till.fail(500);
    const away = await admin.client.post("/api/v1/pos/test-connection", {
      adapterName: "generic",
      credentialsJson: till.credentials(newAccount()),
    });
    till.fail(null);
    expect([away.status, away.body["ok"]]).toEqual([200, false]);
    for (const { text } of [works, refused, away]) expect(text).not.toContain(till.token);
    expect(await contents()).toEqual(before);
  });

  test("reports a POS that cannot be reached", async () => {
    const { status, body } = await tryOut(till.credentials(newAccount(), { baseUrl: "http://127.0.0.1:9" }));
    expect([status, body["ok"]]).toEqual([200, false]);
  });
});
