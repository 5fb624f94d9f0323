import { createHmac } from "node:crypto";
import { z } from "zod";
import { toMinor } from "../domain/money.js";
import { callOutbound, isCallable } from "./http.js";
import { readPhone } from "../domain/phone.js";
import { type MenuEnd, type MenuPage, type PosAdapter, type PosChange, type PosConnection } from "./adapter.js";
import { readPages, retrying, testCredentials } from "./calls.js";
import { Secret } from "./credentials.js";
import { eventIdOf } from "./event.js";
import { Entries, listUpTo } from "./lists.js";
import { IdText, MaybeText, menuPages, readAnswer, readOne, type Candidate } from "./menu.js";
import {
  firstText,
  headerOf,
  instantOf,
  jsonOf,
  Name,
  optionalTextOf,
  readCall,
  sameText,
  textOf,
  toleranceMs,
} from "./webhook.js";

/** The system's address, to which paths are appended. */
const BaseUrl = z
  .url({ protocol: /^https?$/, error: "must be an address such as https://pos.example.com/api" })
  .max(2_000)
  .refine(
    (address) => isCallable(address) && !/[?#]/.test(address),
    "must be an https address without user, password, `?` and `#`",
  );

const Credentials = z.strictObject({
  accountId: Name.meta({ description: "the name of this account in the system's events (`partnerExternalId`)" }),
  baseUrl: BaseUrl.meta({ description: "https address to which `/menu` and `/health` are appended" }),
  token: Secret.meta({ description: "sent to the system as bearer token" }),
  webhookSecret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{32,128}={0,2}$/, "must be `whsec_` and 24 bytes or more in base64")
    .optional()
    .meta({ description: "secret that signs the system's events, if it is not the platform's" }),
});

type Credentials = z.output<typeof Credentials>;

const Page = z.object({ items: Entries, nextCursor: z.string().nullish() });

/** `price` is in major units. */
const Item = z.object({
  externalId: IdText,
  name: z.string(),
  category: MaybeText,
  price: z.number(),
  description: MaybeText,
  weightGrams: z.number().nullish(),
  available: z.boolean().nullish(),
});

const ItemIds = z.object({ externalId: IdText }).transform(({ externalId }) => [externalId]);
const ItemName = z.object({ name: z.string() }).transform(({ name }) => name);

const candidatesOf = (sent: unknown): readonly Candidate[] =>
  readOne(Item, ItemIds, sent, ({ price, available, ...item }) => [
    { ...item, priceMinor: toMinor(price), available: available ?? null },
  ]);

function connect({ accountId, baseUrl, token, webhookSecret }: Credentials): PosConnection {
  const base = baseUrl.replace(/\/+$/, "");
  const headers = { authorization: `Bearer ${token}` };
  return {
    account: accountId,
    origin: new URL(base).origin,
    webhookSecret: webhookSecret ?? null,

    test: (signal) =>
      testCredentials(async () => {
        await callOutbound(`${base}/health`, { headers, unread: true, signal });
        return null;
      }),

    async *pullMenu(_revision, signal): AsyncGenerator<MenuPage, MenuEnd> {
      const ask = retrying(signal);
      const pages = menuPages(candidatesOf, ItemName);
      const parts = readPages(async (cursor) => {
        const query = cursor === null ? "" : `?${new URLSearchParams({ cursor }).toString()}`;
        const sent = await ask(() => callOutbound(`${base}/menu${query}`, { headers, signal }));
        const { items: entries, nextCursor: next } = readAnswer(Page, sent);
        return { entries, next };
      });
      for await (const entries of parts) yield* pages(entries);
      return { unchanged: false, revision: null };
    },
  };
}

const Event = z.object({ partnerExternalId: Name, type: textOf(100), externalId: Name });

const Availability = z.object({
  data: z.object({ items: listUpTo(10_000, z.object({ externalId: Name, available: z.boolean() })) }),
});

const NewOrder = z.object({
  data: z.object({
    items: listUpTo(1_000, z.object({ externalId: Name, qty: z.int().min(1).max(1_000_000) }), 1),
    totalAmount: z.number().transform((major, context) => {
      const minor = toMinor(major);
      if (minor !== null) return minor;
      context.addIssue({ code: "custom", message: "must be an amount with at most two decimals" });
      return z.NEVER;
    }),
    // in the form of accounts' phones: erasing an account finds it by that
    customerPhone: optionalTextOf(50).transform((written) => (written === null ? null : readPhone(written))),
    address: optionalTextOf(1_000),
  }),
});

const OrderStatus = z.object({ data: z.object({ orderExternalId: Name, status: textOf(50) }) });

/** Returns an event's change; null for unknown types. */
function changeOf(type: string, sent: unknown): PosChange | null {
  switch (type) {
    case "menu.updated":
      return { kind: type };
    case "item.availability":
      return { kind: type, items: readCall(Availability, sent).data.items };
    case "order.created": {
      const { totalAmount: totalMinor, ...order } = readCall(NewOrder, sent).data;
      return { kind: type, ...order, totalMinor };
    }
    case "order.status":
      return { kind: type, ...readCall(OrderStatus, sent).data };
    default:
      return null;
  }
}

/** Returns the bytes of a `whsec_` secret; null when it is malformed. */
function keyOf(secret: string): Buffer | null {
  const [, base64] = /^whsec_((?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret) ?? [];
  return base64 === undefined ? null : Buffer.from(base64, "base64");
}

/**
 * Any system that speaks the open protocol, which README.md describes. Its events are Standard Webhooks; those of unknown
 * types are acknowledged and ignored.
 */
export const generic = (): PosAdapter => ({
  name: "generic",
  displayName: "Other (open protocol)",
  address: null,
  credentials: Credentials,
  connect: (credentials) => connect(Credentials.parse(credentials)),
  webhook: {
    account: (call) => firstText(call, "partnerExternalId"),

    // Not by `standardwebhooks`, which the tests sign with. Its version 1.1.1 decodes the body before it signs it, so two
    // bodies that differ in bytes that are not UTF-8 have one signature. It reads "1772366400x" as a time and ignores what
    // follows a second comma of a signature. It also hashes ten times as slowly as OpenSSL, before the caller is known.
    verify(call, secrets, now) {
      const id = headerOf(call, "webhook-id");
      const timestamp = headerOf(call, "webhook-timestamp");
      const signatures = headerOf(call, "webhook-signature");
      if (id === null || timestamp === null || signatures === null) return false;
      const at = instantOf(timestamp);
      if (at === null || Math.abs(now.getTime() - at) > toleranceMs) return false;
      // several, while the sender rotates its secret; the number is bounded by the size of a header
      const sent = signatures.split(" ").filter((signature) => signature.startsWith("v1,"));
      return secrets.some((secret) => {
        const key = keyOf(secret);
        if (key === null) return false;
        const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(call.body).digest("base64");
        return sent.some((signature) => sameText(signature, `v1,${mac}`));
      });
    },

    read(call) {
      const sent = jsonOf(call);
      const { type, externalId, partnerExternalId } = readCall(Event, sent);
      return [{ id: eventIdOf(type, externalId), account: partnerExternalId, change: changeOf(type, sent) }];
    },
  },
});
