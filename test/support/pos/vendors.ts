import { randomUUID } from "node:crypto";
import { newWebhookSecret, startGenericPos } from "./generic.js";
import { startIiko } from "./iiko.js";
import { startPoster } from "./poster.js";
import { startSquare } from "./square.js";
import type { SignedCall, StandInItem } from "./vendor.js";

const webhook = (adapter: string) => `${process.env["PUBLIC_URL"] ?? ""}/api/v1/pos/webhooks/${adapter}`;

/**
 * Starts a stand-in for every vendor, and has the configuration, which must not have been read yet, lead to them: with the
 * secrets that their events are signed with. What all of them can do is said in one way.
 */
export async function startVendors() {
  process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
  process.env["PUBLIC_URL"] = "https://market.test";
  const [square, poster, iiko, generic] = await Promise.all([
    startSquare({ pageSize: 2 }),
    startPoster(),
    startIiko(),
    startGenericPos({ pageSize: 2 }),
  ]);
  process.env["POS_SQUARE_URL"] = square.url;
  process.env["POS_POSTER_URL"] = poster.url;
  process.env["POS_IIKO_URL"] = iiko.url;
  const of = { square, poster, iiko, generic };
  process.env["POS_WEBHOOK_SECRETS"] = JSON.stringify(
    Object.fromEntries(Object.entries(of).map(([adapter, { secret }]) => [adapter, [secret]])),
  );
  /** The event that has one read the menu again, each time another one, with the call that tells of it. */
  const newCall: Record<keyof typeof of, (secret?: string) => SignedCall> = {
    square: (secret) => square.sign(webhook("square"), square.event(), secret),
    poster: (secret) => poster.sign(poster.event({ object_id: Math.ceil(Math.random() * 1e9) }), secret),
    iiko: (secret) => iiko.sign([iiko.event()], secret),
    generic: (secret) => generic.sign(generic.event(), secret === undefined ? {} : { keys: [secret] }),
  };
  const wrongSecret = {
    square: { accessToken: randomUUID() },
    poster: { token: randomUUID() },
    iiko: { apiLogin: randomUUID() },
    generic: { token: randomUUID() },
  };
  const names = ["square", "poster", "iiko", "generic"] as const;
  return {
    ...of,
    all: names.map((adapter) => {
      const vendor = of[adapter];
      const { account, credentials, secret, requests } = vendor;
      return {
        adapter,
        account,
        secret,
        credentials,
        wrongCredentials: { ...credentials, ...wrongSecret[adapter] },
        newCall: newCall[adapter],
        newSecret: adapter === "generic" ? newWebhookSecret : randomUUID,
        requests,
        trouble: (...sent: Parameters<typeof vendor.trouble>) => vendor.trouble(...sent),
        recover: () => vendor.recover(),
        serve: (items: readonly StandInItem[]) => vendor.serve(items),
      };
    }),
    stop: () => Promise.all(names.map((adapter) => of[adapter].stop())),
  };
}

export type Vendors = Awaited<ReturnType<typeof startVendors>>;
export type Vendor = Vendors["all"][number];
