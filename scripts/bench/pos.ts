import { randomBytes } from "node:crypto";
import pg from "pg";
import type { Measure } from "./chapter.js";
import { compare, type Contender } from "./compare.js";
import { underLoad, type Requests } from "./http.js";
import type { Marketplace } from "./marketplace.js";
import { Rate, type PullPlan } from "./messages.js";

/** Connects every bakery to its own POS; returns webhook calls of all these POS systems, which share one secret. */
export async function webhookCalls(databaseUrl: string, { boxes }: Marketplace): Promise<Requests> {
  // these modules read the configuration on import, so the lab must have set it
  const { encryptEnvelope } = await import("../../lib/security/envelope.js");
  const { posCredentialsContext } = await import("../../sql/queries/pos-credentials.js");
  const webhookSecret = `whsec_${randomBytes(24).toString("base64")}`;
  const partnerIds = [...new Set(boxes.map(({ partnerId }) => partnerId))];
  const encrypted = partnerIds.map((accountId) =>
    encryptEnvelope(
      JSON.stringify({ accountId, baseUrl: "https://pos.bench.test", token: "bench-token", webhookSecret }),
      posCredentialsContext(accountId),
    ),
  );
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      `insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
       select id, 'generic', id, encrypted, now() + interval '1 day' from unnest($1::uuid[], $2::text[]) as made (id, encrypted)
       on conflict (partner_id) do update set encrypted = excluded.encrypted`,
      [partnerIds, encrypted],
    );
  } finally {
    await client.end();
  }
  return {
    requests: Array.from({ length: 500 }, (_, n) => ({
      method: "POST" as const,
      path: "/api/v1/pos/webhooks/generic",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        type: "menu.updated",
        externalId: "EVENT",
        partnerExternalId: partnerIds[(n * 7) % partnerIds.length],
        data: {},
      }),
    })),
    webhookSecret,
  };
}

/** Compared with Express that verifies no signature and processes nothing that it stores. */
export const takeWebhooks: Measure = async (lab, marketplace, effort) => {
  const requests = await webhookCalls(lab.databaseUrl, marketplace);
  const [api, bare, load] = await Promise.all([
    lab.start("api/server", { RATE_LIMIT_WEBHOOKS: "1000000" }),
    lab.start("scripts/bench/programs/bare-webhook"),
    lab.start("scripts/bench/programs/load"),
  ]);
  const against = underLoad("bare Express + one insert", bare, load, requests);
  await compare(underLoad("the service", api, load, requests), [{ against, atLeast: 0.85 }], effort);
};

const MENU_ITEMS = 20_000;

export const pullMenus: Measure = async (lab, _marketplace, effort) => {
  // the till listens on this machine
  const env = { NODE_ENV: "test", ALLOW_PRIVATE_ADDRESSES: "1" };
  const program = await lab.start("scripts/bench/programs/pos-sync", env);
  for (const [known, menu] of [
    [false, "into an empty menu"],
    [true, "when nothing has changed"],
  ] as const) {
    const pull = (name: string, how: PullPlan["how"]): Contender => ({
      name: `${name}, ${menu}`,
      measure: () => program.ask({ how, items: MENU_ITEMS, known } satisfies PullPlan, Rate),
    });
    const against = pull("fetch + unnest", "bare");
    await compare(pull("the service", "service"), [{ against, atLeast: 0.8 }], effort);
  }
};
