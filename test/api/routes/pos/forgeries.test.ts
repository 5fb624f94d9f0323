import { createHash, createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import type { AdapterName } from "../../../../lib/domain/adapter-names.js";
import type { Bakery, Character } from "../../../support/cast.js";
import { newWebhookSecret } from "../../../support/pos/generic.js";
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

const deliver = async (adapter: string, { headers, body }: SignedCall) => {
  const reply = await api.client.send("post", `/api/v1/pos/webhooks/${adapter}`, body, { headers });
  return reply.status < 400 ? String(reply.status) : `${reply.status} ${String(reply.body["code"])}`;
};

const stored = async () => (await sql`select from pos_events`).count;

const { square, poster, iiko, generic } = vendors;

/** The same call with another body or other headers; an undefined header is removed. */
const withBody = (call: SignedCall, body: (body: string) => string): SignedCall => ({ ...call, body: body(call.body) });
const withHeaders = ({ headers, body }: SignedCall, changed: Record<string, string | undefined>): SignedCall => ({
  body,
  headers: Object.fromEntries(
    Object.entries({ ...headers, ...changed }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  ),
});
const fieldsOf = (body: string) => z.record(z.string(), z.unknown()).parse(JSON.parse(body));
const reSpaced = (body: string) => JSON.stringify(JSON.parse(body), null, 1);
const reordered = (body: string) => JSON.stringify(Object.fromEntries(Object.entries(fieldsOf(body)).reverse()));
const more = (body: string) => `${body}\n`;
const less = (body: string) => body.slice(0, -1);
const swapCase = (text: string) =>
  text.replace(/[a-z]/gi, (letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()));

const squareUrl = "https://market.test/api/v1/pos/webhooks/square";
const ofSquare = () => square.sign(squareUrl);
const squareSignature = "x-square-hmacsha256-signature";
const reSigned = (change: (signature: string) => string | undefined) => () => {
  const call = ofSquare();
  return withHeaders(call, { [squareSignature]: change(call.headers[squareSignature] ?? "") });
};
const hmac = (algorithm: string, key: string, text: string) => createHmac(algorithm, key).update(text).digest("base64");

const ofPoster = (fields: Record<string, unknown> = {}) => poster.sign(poster.event(fields));
/** A Poster call with other fields than the signed ones. */
const posterWith = (fields: Record<string, unknown>) => () =>
  withBody(ofPoster(), (body) => JSON.stringify({ ...fieldsOf(body), ...fields }));
const posterVerify = (change: (verify: string) => unknown) => () =>
  withBody(ofPoster(), (body) => {
    const sent = fieldsOf(body);
    return JSON.stringify({ ...sent, verify: change(String(sent["verify"])) });
  });

const ofIiko = () => iiko.sign();
const iikoToken = (authorization: string | undefined) => () => withHeaders(ofIiko(), { authorization });

const ofGeneric = () => generic.sign();
const genericHeaders = (change: (headers: Record<string, string>) => Record<string, string | undefined>) => () => {
  const call = ofGeneric();
  return withHeaders(call, change(call.headers));
};
const genericSignature = (change: (signature: string, call: SignedCall) => string) => () => {
  const call = ofGeneric();
  return withHeaders(call, { "webhook-signature": change(call.headers["webhook-signature"] ?? "", call) });
};
const secretBytes = Buffer.from(generic.secret.slice("whsec_".length), "base64");
const signedText = ({ headers, body }: SignedCall) =>
  `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
const minutesAway = (minutes: number) => new Date(Date.now() + minutes * 60_000);

const forgeries: Record<AdapterName, Record<string, () => SignedCall>> = {
  square: {
    "without a signature": reSigned(() => undefined),
    "with an empty signature": reSigned(() => ""),
    "with a signature that is cut short": reSigned((signature) => signature.slice(0, -4)),
    "with a signature that goes on": reSigned((signature) => `${signature}AAAA`),
    "with a signature in other case": reSigned(swapCase),
    "with a signature in hex": reSigned((signature) => Buffer.from(signature, "base64").toString("hex")),
    "with two signatures": reSigned((signature) => `${signature}, ${signature}`),
    "with the signature under another header": () => {
      const call = ofSquare();
      return withHeaders(call, {
        [squareSignature]: undefined,
        "x-square-signature": call.headers[squareSignature],
      });
    },
    "with another secret": () => square.sign(squareUrl, square.event(), randomUUID()),
    "with no secret": () => square.sign(squareUrl, square.event(), ""),
    "with another provider's secret": () => square.sign(squareUrl, square.event(), poster.secret),
    "for another address": () => square.sign("https://other.test/api/v1/pos/webhooks/square"),
    "for no address": () => square.sign(""),
    "by an older algorithm": () => {
      const call = ofSquare();
      return withHeaders(call, { [squareSignature]: hmac("sha1", square.secret, squareUrl + call.body) });
    },
    "of the same in other words": () => withBody(ofSquare(), reSpaced),
    "of the same in another order": () => withBody(ofSquare(), reordered),
    "with a line more": () => withBody(ofSquare(), more),
    "cut short": () => withBody(ofSquare(), less),
    "of another event": () => withBody(ofSquare(), () => JSON.stringify(square.event())),
    "of nothing": () => withBody(ofSquare(), () => ""),
  },
  poster: {
    "without a signature": posterVerify(() => undefined),
    "with an empty signature": posterVerify(() => ""),
    "with a signature that is null": posterVerify(() => null),
    "with a signature that is true": posterVerify(() => true),
    "with a signature in a list": posterVerify((verify) => [verify]),
    "with a signature that is cut short": posterVerify((verify) => verify.slice(0, -1)),
    "with a signature that goes on": posterVerify((verify) => `${verify}0`),
    "with a signature in capitals": posterVerify((verify) => verify.toUpperCase()),
    "with another secret": () => poster.sign(poster.event(), randomUUID()),
    "with no secret": () => poster.sign(poster.event(), ""),
    "with a digest that no secret is in": () =>
      withBody(ofPoster(), (body) => {
        const sent = fieldsOf(body);
        const text = ["account", "object", "object_id", "action", "time"].map((name) => String(sent[name])).join(";");
        return JSON.stringify({ ...sent, verify: createHash("md5").update(text).digest("hex") });
      }),
    "of another thing": posterWith({ object_id: 140 }),
    "of another kind of thing": posterWith({ object: "dish" }),
    "of another action": posterWith({ action: "removed" }),
    "of another time": posterWith({ time: "1700000000" }),
    "with data that was not signed": posterWith({ data: "{}" }),
    "without the data that was signed": () =>
      withBody(ofPoster({ data: '{"value":1}' }), (body) => {
        return JSON.stringify({ ...fieldsOf(body), data: undefined });
      }),
    "whose parts are cut elsewhere": () =>
      withBody(ofPoster({ object: "product", action: "changed" }), (body) => {
        const sent = fieldsOf(body);
        return JSON.stringify({
          ...sent,
          object: `product;${String(sent["object_id"])}`,
          object_id: "changed",
          action: "",
        });
      }),
    "in a list": () => withBody(ofPoster(), (body) => `[${body}]`),
    "of nothing": () => withBody(ofPoster(), () => ""),
  },
  iiko: {
    "without a token": iikoToken(undefined),
    "with an empty token": iikoToken(""),
    "with an empty bearer token": iikoToken("Bearer "),
    "with a token that is cut short": iikoToken(`Bearer ${iiko.secret.slice(0, -1)}`),
    "with a token that goes on": iikoToken(`Bearer ${iiko.secret}x`),
    "with a token in other case": iikoToken(`Bearer ${swapCase(iiko.secret)}`),
    "with a token in quotes": iikoToken(`Bearer "${iiko.secret}"`),
    "with another token": iikoToken(`Bearer ${randomUUID()}`),
    "with another provider's secret": iikoToken(`Bearer ${square.secret}`),
    "with the token as a password": iikoToken(`Basic ${Buffer.from(`user:${iiko.secret}`).toString("base64")}`),
    "with a token twice": iikoToken(`Bearer ${iiko.secret}, Bearer ${iiko.secret}`),
    "with the token in the body": () =>
      withHeaders(iiko.sign([iiko.event({ authToken: iiko.secret })]), { authorization: undefined }),
    "of an account with a token of its own": () => iiko.sign([iiko.event({ organizationId: ownAccount })]),
    "of such an account behind another": () => iiko.sign([iiko.event(), iiko.event({ organizationId: ownAccount })]),
  },
  generic: {
    "without an id": genericHeaders(() => ({ "webhook-id": undefined })),
    "without a time": genericHeaders(() => ({ "webhook-timestamp": undefined })),
    "without a signature": genericHeaders(() => ({ "webhook-signature": undefined })),
    "with another id": genericHeaders(() => ({ "webhook-id": randomUUID() })),
    "with another time": genericHeaders((headers) => ({
      "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1),
    })),
    "with a time in milliseconds": genericHeaders((headers) => ({
      "webhook-timestamp": `${headers["webhook-timestamp"]}000`,
    })),
    "with a time in words": genericHeaders(() => ({ "webhook-timestamp": new Date().toISOString() })),
    "with no time at all": genericHeaders(() => ({ "webhook-timestamp": "NaN" })),
    "of six minutes ago": () => generic.sign(generic.event(), { at: minutesAway(-6) }),
    "of six minutes hence": () => generic.sign(generic.event(), { at: minutesAway(6) }),
    "with an empty signature": genericSignature(() => ""),
    "with an empty signature of this version": genericSignature(() => "v1,"),
    "with a signature of no version": genericSignature((signature) => signature.slice("v1,".length)),
    "with a signature of another version": genericSignature((signature) => signature.replace("v1,", "v2,")),
    "with a signature that is cut short": genericSignature((signature) => signature.slice(0, -4)),
    "with a signature in hex": genericSignature(
      (signature) => `v1,${Buffer.from(signature.slice(3), "base64").toString("hex")}`,
    ),
    "with many wrong signatures": genericSignature((signature) =>
      Array.from({ length: 20 }, () => `v1,${hmac("sha256", randomUUID(), signature)}`).join(" "),
    ),
    "with the secret taken as text": genericSignature(
      (_, call) => `v1,${hmac("sha256", generic.secret, signedText(call))}`,
    ),
    "by an older algorithm": genericSignature(
      (_, call) => `v1,${createHmac("sha1", secretBytes).update(signedText(call)).digest("base64")}`,
    ),
    "of the body alone": genericSignature(
      (_, { body }) => `v1,${createHmac("sha256", secretBytes).update(body).digest("base64")}`,
    ),
    "with another secret": () => generic.sign(generic.event(), { keys: [newWebhookSecret()] }),
    "of the same in other words": () => withBody(ofGeneric(), reSpaced),
    "of the same in another order": () => withBody(ofGeneric(), reordered),
    "with a line more": () => withBody(ofGeneric(), more),
    "of an account with a secret of its own": () => generic.sign({ ...generic.event(), partnerExternalId: ownAccount }),
    "of nothing": () => withBody(ofGeneric(), () => ""),
  },
};

describe.each(vendors.all)("a call of $adapter", ({ adapter, secret, newCall, newSecret, credentials }) => {
  test("is accepted when it is signed as documented", async () => {
    const before = await stored();
    expect(await deliver(adapter, newCall())).toBe("200");
    expect(await stored()).toBe(before + 1);
  });

  describe.each(Object.entries(forgeries[adapter]))("%s", (_what, forge) => {
    test("is refused, and nothing is stored", async () => {
      await connectOwn();
      const before = await stored();
      expect(await deliver(adapter, forge())).toBe("401 UNAUTHORIZED");
      expect(await stored()).toBe(before);
    });
  });

  /** Connects the second bakery, with its own secret. */
  async function connectOwn(webhookSecret = newSecret()): Promise<string> {
    const name = { square: "merchantId", poster: "account", iiko: "organizationId", generic: "accountId" }[adapter];
    await connect(own, adapter, { ...credentials, [name]: ownAccount, webhookSecret });
    return webhookSecret;
  }

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

test("there are at least 50 forgeries", () => {
  expect(Object.values(forgeries).flatMap((each) => Object.keys(each)).length).toBeGreaterThanOrEqual(50);
});
