import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { AdapterName } from "../../../../lib/domain/adapter-names.js";
import type { Bakery, Character } from "../../../support/cast.js";
import { forgeriesOf } from "../../../support/pos/forgeries/index.js";
import type { SignedCall } from "../../../support/pos/vendor.js";
import { startVendors } from "../../../support/pos/vendors.js";

const vendors = await startVendors();
const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { closeSignals } = await import("../../../../sql/signals.js");

let api: Awaited<ReturnType<typeof startApi>>;
let admin: Character;
let own: Bakery;
const deployment = "https://market.test";
/** The account of the bakery that has its own webhook secret. */
const ownAccount = randomUUID();

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
  for (const { adapter, credentials } of vendors.all)
    await connect(await cast.bakery(api.client), adapter, credentials);
  own = await cast.bakery(api.client);
});

afterAll(async () => {
  await api.stop();
  await vendors.stop();
  await closeSignals();
  await closeDatabase();
});

async function connect({ id }: Bakery, adapterName: string, credentials: Record<string, unknown>): Promise<void> {
  const sent = { partnerId: id, adapterName, credentialsJson: JSON.stringify(credentials) };
  expect((await admin.client.put("/api/v1/pos/credentials", sent)).status).toBe(200);
}

const deliver = async (adapter: string, { headers, body }: Call) => {
  const reply = await api.client.send("post", `/api/v1/pos/webhooks/${adapter}`, body, { headers });
  return reply.status < 400 ? String(reply.status) : `${reply.status} ${String(reply.body["code"])}`;
};

const stored = async () => (await sql`select from pos_events`).count;

/** A call of an account with a secret of its own, signed with the deployment's. */
const ofOwnAccount: Record<AdapterName, () => SignedCall> = {
  square: () =>
    vendors.square.sign(`${deployment}/api/v1/pos/webhooks/square`, {
      ...vendors.square.event(),
      merchant_id: ownAccount,
    }),
  poster: () => vendors.poster.sign(vendors.poster.event({ account: ownAccount })),
  iiko: () => vendors.iiko.sign([vendors.iiko.event(), vendors.iiko.event({ organizationId: ownAccount })]),
  generic: () => vendors.generic.sign({ ...vendors.generic.event(), partnerExternalId: ownAccount }),
};

type Call = Omit<SignedCall, "body"> & { body: string | Buffer };

const isUnchanged = (header: [string, string | string[] | undefined]): header is [string, string] =>
  typeof header[1] === "string" && header[1].trim() === header[1];

/** The forgeries of now that HTTP leaves as they are: it trims headers. This deployment has its secrets. */
function forgeriesOverHttp(adapter: AdapterName): Record<string, Call> {
  const forged = Object.entries(forgeriesOf(vendors, deployment, new Date())[adapter]);
  return Object.fromEntries(
    forged.flatMap(([what, forgery]) => {
      if (Array.isArray(forgery)) return [];
      const headers = Object.entries(forgery.headers).filter(([, value]) => value !== undefined);
      return headers.every(isUnchanged)
        ? [[what, { headers: Object.fromEntries(headers), body: forgery.body }] as const]
        : [];
    }),
  );
}

describe.each(vendors.all)("a call of $adapter", ({ adapter, secret, newCall, newSecret, credentials }) => {
  test("is accepted when it is signed as documented", async () => {
    const before = await stored();
    expect(await deliver(adapter, newCall())).toBe("200");
    expect(await stored()).toBe(before + 1);
  });

  test.each(Object.keys(forgeriesOverHttp(adapter)))("is refused with %s, and nothing is stored", async (what) => {
    const before = await stored();
    expect(await deliver(adapter, forgeriesOverHttp(adapter)[what]!)).toBe("401 UNAUTHORIZED");
    expect(await stored()).toBe(before);
  });

  test("of an account with a secret of its own is refused when it is signed with the deployment's", async () => {
    const name = { square: "merchantId", poster: "account", iiko: "organizationId", generic: "accountId" }[adapter];
    await connect(own, adapter, { ...credentials, [name]: ownAccount, webhookSecret: newSecret() });
    const before = await stored();
    expect(await deliver(adapter, ofOwnAccount[adapter]())).toBe("401 UNAUTHORIZED");
    expect(await stored()).toBe(before);
  });

  test("signed with a former secret is refused, and so is the deployment's secret when the partner has its own", async () => {
    const bakery = await cast.bakery(api.client);
    await sql`delete from pos_credentials where account in (${vendors[adapter].account}, ${ownAccount})`;
    const [former, next] = [newSecret(), newSecret()];
    await connect(bakery, adapter, { ...credentials, webhookSecret: former });
    expect(await deliver(adapter, newCall(former))).toBe("200");
    await connect(bakery, adapter, { ...credentials, webhookSecret: next });
    expect(await deliver(adapter, newCall(former))).toBe("401 UNAUTHORIZED");
    expect(await deliver(adapter, newCall(secret))).toBe("401 UNAUTHORIZED");
    expect(await deliver(adapter, newCall(next))).toBe("200");
    await connect(bakery, adapter, credentials);
    expect(await deliver(adapter, newCall(next))).toBe("401 UNAUTHORIZED");
    expect(await deliver(adapter, newCall(secret))).toBe("200");
  });

  test("signed for another provider is refused", async () => {
    for (const other of vendors.all.filter((each) => each.adapter !== adapter))
      expect(await deliver(adapter, other.newCall())).toBe("401 UNAUTHORIZED");
  });
});
