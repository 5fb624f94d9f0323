import { deepStrictEqual } from "node:assert/strict";
import type { Contender } from "./compare.js";
import { PRICE, type Marketplace } from "./marketplace.js";
import { Load, type LoadPlan } from "./messages.js";
import type { Program } from "./program.js";

export const CLIENTS = 32;

export type Requests = Pick<LoadPlan, "requests" | "uniqueHeader" | "webhookSecret">;

/** Measures how many of these requests a server answers per second; rejects when it refuses any. */
export function underLoad(
  name: string,
  server: Program,
  load: Program,
  requests: Requests,
  connections = CLIENTS,
): Contender {
  return {
    name,
    measure: async (seconds) => {
      const before = server.cpuSeconds();
      const plan: LoadPlan = { url: server.url, connections, seconds, ...requests };
      const { perSecond, p99Ms, failed, busy } = await load.ask(plan, Load);
      const after = server.cpuSeconds();
      if (failed > 0) throw new Error(`${name} refused ${failed} requests`);
      if (busy > 0.95) throw new Error("the load generator is the bottleneck: these figures would mean nothing");
      const cpu =
        before === null || after === null ? {} : { cpuMicros: ((after - before) * 1e6) / perSecond / seconds };
      return { perSecond, p99Ms, ...cpu };
    },
  };
}

/** Checks that two servers give the same answer, so that the same work is compared. */
export async function assertSameAnswer(one: Program, other: Program, { requests }: Requests): Promise<void> {
  const [request] = requests;
  if (!request) throw new Error("there is no request to compare");
  const answers = [one, other].map(async ({ url }): Promise<unknown> => {
    const response = await fetch(url + request.path, { headers: request.headers });
    return response.json();
  });
  deepStrictEqual(await answers[0], await answers[1]);
}

const get = (path: string, headers: Record<string, string> = {}) => ({ method: "GET" as const, path, headers });

/** Reads of all boxes, one after the other. */
export const boxReads = ({ boxes }: Marketplace): Requests => ({
  requests: boxes.map(({ id }) => get(`/api/v1/boxes/${id}`)),
});

/** The first page of what can be ordered in the city. */
export const offerLists: Requests = {
  requests: Array.from({ length: 500 }, () => get("/api/v1/boxes?cityId=bench&limit=20")),
};

/** Searches around many places, each with all bakeries in reach. */
export const nearbySearches: Requests = {
  requests: Array.from({ length: 500 }, (_, n) =>
    get(`/api/v1/geo/partners/nearby?lat=${(55.7 + n / 10_000).toFixed(4)}&lng=37.6&radius=10000&limit=20`),
  ),
};

export async function authorizationOf(userId: string): Promise<Record<string, string>> {
  // this module reads the configuration on import, so the lab must have set it
  const { signAccessToken } = await import("../../lib/security/tokens.js");
  return { authorization: `Bearer ${await signAccessToken({ userId, scope: "USER" })}` };
}

/** Every user's read of their own profile. */
export async function profileReads({ userIds }: Marketplace): Promise<Requests> {
  const headers = await Promise.all(userIds.map(authorizationOf));
  return { requests: headers.map((header) => get("/api/v1/users/me", header)) };
}

/** One order per user, each of one of these boxes and with its own Idempotency-Key. */
export async function placements({ userIds, boxes }: Pick<Marketplace, "userIds" | "boxes">): Promise<Requests> {
  const requests = userIds.map(async (userId, n) => {
    // 7 and 500 have no common divisor, so every connection orders the boxes in a different order
    const box = boxes[(n * 7) % boxes.length] ?? { id: "", partnerId: "" };
    return {
      method: "POST" as const,
      path: "/api/v1/orders",
      headers: { ...(await authorizationOf(userId)), "content-type": "application/json" },
      body: JSON.stringify({
        items: [{ menuItemId: box.id, qty: 1 }],
        totalAmount: PRICE,
        partnerId: box.partnerId,
        address: "Тверская улица, 1",
      }),
    };
  });
  return { requests: await Promise.all(requests), uniqueHeader: "idempotency-key" };
}
