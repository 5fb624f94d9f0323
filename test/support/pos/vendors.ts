import { randomUUID } from "node:crypto";
import type { AdapterName } from "../../../lib/domain/adapter-names.js";
import { newWebhookSecret, startGenericPos } from "./generic.js";
import { startIiko } from "./iiko.js";
import { startPoster } from "./poster.js";
import { startSquare } from "./square.js";
import type { SignedCall, StandInItem } from "./vendor.js";

const webhook = (adapter: string) => `${process.env["PUBLIC_URL"] ?? ""}/api/v1/pos/webhooks/${adapter}`;

/**
 * Starts a stand-in for every vendor behind a common interface, and sets their addresses and webhook secrets in the
 * environment. Call it before importing anything that reads the configuration.
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
  const of = { square, poster, iiko, generic } satisfies Record<AdapterName, object>;
  process.env["POS_WEBHOOK_SECRETS"] = JSON.stringify(
    Object.fromEntries(Object.entries(of).map(([adapter, { secret }]) => [adapter, [secret]])),
  );
  /** A call with a new event that requests a menu sync. */
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
  const names = Object.keys(of).filter((name): name is AdapterName => name in of);
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
