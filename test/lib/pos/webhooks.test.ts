import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { PosAdapter, WebhookCall } from "../../../lib/pos/adapter.js";
import { generic } from "../../../lib/pos/generic.js";
import { iiko } from "../../../lib/pos/iiko.js";
import { poster } from "../../../lib/pos/poster.js";
import { square } from "../../../lib/pos/square.js";
import {
  forgeriesOfGeneric,
  forgeriesOfIiko,
  forgeriesOfPoster,
  forgeriesOfSquare,
  type Forgeries,
} from "../../support/pos/forgeries.js";
import { newWebhookSecret, startGenericPos } from "../../support/pos/generic.js";
import { startIiko } from "../../support/pos/iiko.js";
import { startPoster } from "../../support/pos/poster.js";
import { received } from "../../support/pos/pull.js";
import { startSquare } from "../../support/pos/square.js";

const vendors = {
  square: await startSquare(),
  poster: await startPoster(),
  iiko: await startIiko(),
  generic: await startGenericPos(),
};
const to = "https://api.example.com/api/v1/pos/webhooks/square";
const adapters = { square: square("", to), poster: poster(""), iiko: iiko(""), generic: generic() };
const now = new Date("2026-03-01T12:00:00.500Z");

afterAll(() => Promise.all(Object.values(vendors).map((vendor) => vendor.stop())));

const forgeries: Record<keyof typeof adapters, Forgeries> = {
  square: forgeriesOfSquare(vendors.square, to),
  poster: forgeriesOfPoster(vendors.poster),
  iiko: forgeriesOfIiko(vendors.iiko),
  generic: forgeriesOfGeneric(vendors.generic, now),
};
const names = ["square", "poster", "iiko", "generic"] as const;

test("there are more than fifty kinds", () => {
  expect(new Set(Object.values(forgeries).flatMap((ones) => Object.keys(ones))).size).toBeGreaterThan(50);
});

describe.each(names)("%s", (name) => {
  const { webhook } = adapters[name];
  const { secret } = vendors[name];

  test.each(Object.entries(forgeries[name]))("refuses %s", (_what, forgery) => {
    const [call, secrets] = Array.isArray(forgery) ? forgery : [forgery, [secret]];
    expect(webhook.verify(call, secrets, now)).toBe(false);
  });

  test("believes a call whose secret is one of those in force", () => {
    const call = {
      square: () => vendors.square.sign(to),
      poster: () => vendors.poster.sign(),
      iiko: () => vendors.iiko.sign(),
      generic: () => vendors.generic.sign(undefined, { at: now }),
    }[name]();
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
          [
            ...["account", "object", "object_id", "action", "data", "time", "verify", "type", "externalId"],
            ...["partnerExternalId", "merchant_id", "event_id", "organizationId", "eventType", "eventInfo"],
          ].map((field) => [field, fc.oneof(fc.string(), fc.jsonValue())]),
        ),
        { requiredKeys: [] },
      )
      .chain((event) => fc.constantFrom(event, [event]))
      .map((event) => Buffer.from(JSON.stringify(event))),
  );
  const call: fc.Arbitrary<WebhookCall> = fc.record({
    headers: fc.record({
      authorization: header,
      "webhook-id": header,
      "webhook-timestamp": header,
      "webhook-signature": header,
      "x-square-hmacsha256-signature": header,
    }),
    body,
  });

  test("neither believes nor is thrown by whatever else comes in", () => {
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

/** Whether a call is read, or refused in the one way that there is. */
function reads(webhook: PosAdapter["webhook"], call: WebhookCall): boolean {
  try {
    return webhook.read(call).every(({ id, account }) => id !== "" && account !== "");
  } catch (error) {
    return error instanceof Error && error.name === "MalformedWebhook";
  }
}

test("a signature counts for five minutes, into the past and into what is to come", () => {
  const { webhook } = adapters.generic;
  const { sign, secret } = vendors.generic;
  const at = (seconds: number) => received(sign(undefined, { at: new Date(now.getTime() + seconds * 1_000) }));
  const exact = new Date(Math.floor(now.getTime() / 1_000) * 1_000);
  for (const seconds of [-300, -299, 0, 299, 300]) expect(webhook.verify(at(seconds), [secret], exact)).toBe(true);
  for (const seconds of [-301, 301]) expect(webhook.verify(at(seconds), [secret], exact)).toBe(false);
});

test("a call that is signed with an old secret and a new one is believed with either", () => {
  const { webhook } = adapters.generic;
  const keys = [newWebhookSecret(), newWebhookSecret()];
  const call = received(vendors.generic.sign(undefined, { at: now, keys }));
  for (const key of keys) expect(webhook.verify(call, [key], now)).toBe(true);
  const headers = { ...call.headers, "webhook-signature": `v1a,abc ${String(call.headers["webhook-signature"])}` };
  expect(webhook.verify({ ...call, headers }, [keys[1] ?? ""], now)).toBe(true);
});
