import { afterAll, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import type { PosAdapter, WebhookCall } from "../../../lib/pos/adapter.js";
import { generic } from "../../../lib/pos/generic.js";
import { iiko } from "../../../lib/pos/iiko.js";
import type { AdapterName } from "../../../lib/domain/adapter-names.js";
import { poster } from "../../../lib/pos/poster.js";
import { square } from "../../../lib/pos/square.js";
import { forgeriesOf } from "../../support/pos/forgeries/index.js";
import { newWebhookSecret, startGenericPos } from "../../support/pos/generic.js";
import { startIiko } from "../../support/pos/iiko.js";
import { startPoster } from "../../support/pos/poster.js";
import { received } from "../../support/pos/pull.js";
import { startSquare } from "../../support/pos/square.js";
import type { SignedCall } from "../../support/pos/vendor.js";

const vendors = {
  square: await startSquare(),
  poster: await startPoster(),
  iiko: await startIiko(),
  generic: await startGenericPos(),
};
const deployment = "https://api.example.com";
const to = `${deployment}/api/v1/pos/webhooks/square`;
const adapters = { square: square("", to), poster: poster(""), iiko: iiko(""), generic: generic() };
const now = new Date("2026-03-01T12:00:00.500Z");

afterAll(() => Promise.all(Object.values(vendors).map((vendor) => vendor.stop())));

const forgeries = forgeriesOf(vendors, deployment, now);
const names = Object.keys(forgeries).filter((name): name is AdapterName => name in forgeries);
/** A signed call of each vendor. */
const newCall: Record<AdapterName, () => SignedCall> = {
  square: () => vendors.square.sign(to),
  poster: () => vendors.poster.sign(),
  iiko: () => vendors.iiko.sign(),
  generic: () => vendors.generic.sign(undefined, { at: now }),
};
/** The names of a call's fields, at any depth. */
const fieldsOf = ({ body }: SignedCall) => [...body.matchAll(/"(\w+)":/g)].map(([, field = ""]) => field);

test("there are more than fifty kinds of forgeries", () => {
  expect(new Set(Object.values(forgeries).flatMap((ones) => Object.keys(ones))).size).toBeGreaterThan(50);
});

describe.each(names)("%s", (name) => {
  const { webhook } = adapters[name];
  const { secret } = vendors[name];

  test.each(Object.entries(forgeries[name]))("refuses %s", (_what, forgery) => {
    const [call, secrets] = Array.isArray(forgery) ? forgery : [forgery, [secret]];
    expect(webhook.verify(call, secrets, now)).toBe(false);
  });

  test("accepts a call signed with any current secret", () => {
    const call = newCall[name]();
    const another = newWebhookSecret();
    for (const secrets of [[secret], [another, secret], [secret, another], ["", secret]])
      expect(webhook.verify(received(call), secrets, now)).toBe(true);
    expect(webhook.account(received(call))).toBe(vendors[name].account);
  });

  const header = fc.oneof(
    fc.constantFrom(undefined, "", " ", "v1,", "Bearer ", "v1,=", "1772366400"),
    fc.string({ unit: "binary", maxLength: 100 }),
    fc.array(fc.string(), { maxLength: 3 }),
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc
      .record(
        Object.fromEntries(
          ["data", ...fieldsOf(newCall[name]())].map((field) => [field, fc.oneof(fc.string(), fc.jsonValue())]),
        ),
        { requiredKeys: [] },
      )
      .chain((event) => fc.constantFrom(event, [event]))
      .map((event) => Buffer.from(JSON.stringify(event))),
  );
  const call: fc.Arbitrary<WebhookCall> = fc.record({
    headers: fc.record(Object.fromEntries(Object.keys(newCall[name]().headers).map((sent) => [sent, header]))),
    body,
  });

  test("refuses any other call without crashing", () => {
    fc.assert(
      fc.property(call, fc.array(fc.string(), { maxLength: 3 }), (sent, more) => {
        expect(webhook.verify(sent, [secret, ...more.filter((one) => one.length > 8)], now)).toBe(false);
        expect(["object", "string"]).toContain(typeof webhook.account(sent));
        expect(reads(webhook, sent)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a call that is not verified yet", () => {
  // Poster's signature is in the body
  test.each(names.filter((name) => name !== "poster"))("is not parsed: %s", (name) => {
    const { webhook } = adapters[name];
    const call = received(newCall[name]());
    const parsing = jest.spyOn(JSON, "parse");
    expect(webhook.account(call)).toBe(vendors[name].account);
    expect(webhook.verify(call, [vendors[name].secret], now)).toBe(true);
    expect(parsing.mock.calls.map(([text]) => text).filter((text) => !/^"[^"]*"$/.test(text))).toEqual([]);
    webhook.read(call);
    expect(parsing.mock.calls.filter(([text]) => text === call.body.toString())).toHaveLength(1);
    parsing.mockRestore();
  });

  test("is refused when it must be parsed, and is longer than any event: poster", () => {
    const { webhook } = adapters.poster;
    const { secret, account } = vendors.poster;
    const event = received(newCall.poster());
    const padded = (bytes: number) => ({
      ...event,
      body: Buffer.concat([event.body, Buffer.alloc(bytes - event.body.length, " ")]),
    });
    expect(webhook.verify(padded(65_536), [secret], now)).toBe(true);
    expect(webhook.verify(padded(65_537), [secret], now)).toBe(false);
    expect(webhook.account(padded(1_000_000))).toBe(account);
  });

  test.each([
    ['{"merchant_id":"m\\u0041\\"","x":1}', 'mA"'],
    ['{"merchant_id" \n : "m"}', "m"],
    ['{"text":"\\"merchant_id\\":\\"other\\"","merchant_id":"m"}', "m"],
    ['{"merchant_id":7}', null],
    ['{"merchant_id":', null],
    ['{"merchant_id":"m', null],
    [`{"merchant_id":"${"m".repeat(5_000)}"}`, null],
    ["", null],
  ])("names its account, if any: %j", (body, account) => {
    expect(adapters.square.webhook.account({ headers: {}, body: Buffer.from(body) })).toBe(account);
  });
});

/** Whether a call is accepted, or refused with the one documented error. */
function reads(webhook: PosAdapter["webhook"], call: WebhookCall): boolean {
  try {
    return webhook.read(call).every(({ id, account }) => id !== "" && account !== "");
  } catch (error) {
    return error instanceof Error && error.name === "MalformedWebhook";
  }
}

test("a signature is valid for five minutes, in the past and in the future", () => {
  const { webhook } = adapters.generic;
  const { sign, secret } = vendors.generic;
  const at = (seconds: number) => received(sign(undefined, { at: new Date(now.getTime() + seconds * 1_000) }));
  const exact = new Date(Math.floor(now.getTime() / 1_000) * 1_000);
  for (const seconds of [-300, -299, 0, 299, 300]) expect(webhook.verify(at(seconds), [secret], exact)).toBe(true);
  for (const seconds of [-301, 301]) expect(webhook.verify(at(seconds), [secret], exact)).toBe(false);
});

test("a call signed with an old and a new secret is accepted with either", () => {
  const { webhook } = adapters.generic;
  const keys = [newWebhookSecret(), newWebhookSecret()];
  const call = received(vendors.generic.sign(undefined, { at: now, keys }));
  for (const key of keys) expect(webhook.verify(call, [key], now)).toBe(true);
  const headers = { ...call.headers, "webhook-signature": `v1a,abc ${String(call.headers["webhook-signature"])}` };
  expect(webhook.verify({ ...call, headers }, [keys[1] ?? ""], now)).toBe(true);
});
