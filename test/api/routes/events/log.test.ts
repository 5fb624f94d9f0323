import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { watchEvents } from "../../../../api/common/event-tail.js";
import { endEventWaits } from "../../../../api/routes/events/log.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { findLogEnds, numberEvents } from "../../../../sql/queries/events.js";
import { closeSignals } from "../../../../sql/signals.js";
import { type Client, outcome, type Reply, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { until } from "../../../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;
let shop: cast.Bakery;
let other: cast.Bakery;
let owner: Client;
let machine: Client;
let admin: cast.Character;
/** The end of the log when a test begins. */
let start: number;

beforeAll(async () => {
  api = await startApi();
  shop = await cast.bakery(api.client);
  other = await cast.bakery(api.client);
  owner = shop.owner.client;
  admin = await cast.admin(api.client);
  const key = await admin.client.post("/api/v1/admin/api-keys", { name: "1С", scopes: ["events:read"] });
  machine = api.client.as(key.string("key"));
});

afterAll(async () => {
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

beforeEach(async () => {
  await numberAll();
  start = (await findLogEnds(sql)).last;
});

async function numberAll(): Promise<void> {
  while ((await numberEvents(sql, 1_000)) > 0);
}

const box = {
  boxId: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f",
  quantityAvailable: 1,
  priceCents: 100,
  pickupWindowStart: "2026-06-01T15:00:00.000Z",
  pickupWindowEnd: "2026-06-01T17:00:00.000Z",
  hidden: false,
};

/** Inserts and numbers so many events of a partner, or of the platform. */
async function happen(partner: cast.Bakery | null, type = "box.changed", times = 1): Promise<void> {
  const data = partner === null ? { campaignId: box.boxId } : box;
  await sql`
    select record_event(${type}::text, ${partner?.id ?? null}::uuid, ${sql.json(data)}) from generate_series(1, ${times}::integer)`;
  await numberAll();
}

const Page = z.object({
  events: z.array(
    z.looseObject({ position: z.int(), id: z.string(), type: z.string(), partnerId: z.string().nullable() }),
  ),
  after: z.int(),
  more: z.boolean(),
});
const pageOf = ({ body }: Reply) => Page.parse(body);
const ask = (as: Client, query: string) => as.get(`/api/v1/events?${query}`);
const read = async (as: Client, query: string) => pageOf(await ask(as, query));
const typesOf = ({ events }: z.output<typeof Page>) => events.map(({ type }) => type);

describe("the log", () => {
  test("shows a partner its own events, admins and service keys all", async () => {
    await happen(shop);
    await happen(other, "box.expired");
    await happen(null, "campaign.completed");
    const own = await read(owner, `after=${start}`);
    expect(own).toEqual({
      events: [
        {
          position: expect.any(Number),
          id: expect.any(String),
          type: "box.changed",
          version: 1,
          partnerId: shop.id,
          at: expect.any(String),
          data: box,
        },
      ],
      after: (await findLogEnds(sql)).last,
      more: false,
    });
    for (const as of [machine, admin.client])
      expect(typesOf(await read(as, `after=${start}`))).toEqual(["box.changed", "box.expired", "campaign.completed"]);
  });

  test("is read page by page, each event once", async () => {
    await happen(shop, "box.changed", 5);
    const pages: number[][] = [];
    for (let [after, more] = [start, true]; more;) {
      const page = await read(owner, `after=${after}&limit=2`);
      pages.push(page.events.map(({ position }) => position - start));
      [after, more] = [page.after, page.more];
    }
    expect(pages).toEqual([[1, 2], [3, 4], [5]]);
  });

  test("begins with the oldest event, or with `end` at its present end", async () => {
    await happen(shop);
    const { after, ...rest } = await read(owner, "after=end");
    expect([after, rest]).toEqual([(await findLogEnds(sql)).last, { events: [], more: false }]);
    await happen(shop, "box.expired");
    expect(typesOf(await read(owner, `after=${after}`))).toEqual(["box.expired"]);
    expect(await read(owner, "")).toEqual(await read(owner, "after=0"));
    expect((await read(owner, "after=0")).events[0]?.type).toBe("partner.registered");
  });

  test("shows only the wanted types, and leads on where there are none among thousands", async () => {
    await happen(other, "box.changed", 2_500);
    await happen(shop, "box.expired");
    await happen(shop, "box.back");
    const types = "types=box.expired,box.sold_out";
    const page = await read(machine, `after=${start}&${types}`);
    expect(page).toEqual({ events: [], after: start + 2_000, more: true });
    expect(typesOf(await read(machine, `after=${page.after}&${types}`))).toEqual(["box.expired"]);
    expect(typesOf(await read(owner, `after=${start}&${types}`))).toEqual(["box.expired"]);
  });

  test("refuses to go on from a position whose next events are gone", async () => {
    await sql`update event_log set dropped_position = ${start}::bigint`;
    expect(outcome(await ask(owner, `after=${start - 1}`))).toBe("410 NOT_FOUND");
    for (const after of [start, "0", "end"]) expect(outcome(await ask(owner, `after=${after}`))).toBe("200");
    await sql`update event_log set dropped_position = 0`;
  });

  test.each([
    "after=-1",
    "after=1.5",
    "after=01",
    "after=now",
    "types=box.eaten",
    "types=",
    "wait=-1",
    "wait=x",
    "limit=0",
  ])("%s: 400", async (query) => {
    expect(outcome(await ask(owner, query))).toBe("400 VALIDATION_ERROR");
  });
});

/** Resolves when this process listens for signals, which it does while a request waits. */
const listening = () =>
  until(async () => {
    const sessions = await sql`
      select from pg_stat_activity
      where datname = current_database() and application_name = 'surplus-food signals' and query <> '' and state = 'idle'`;
    return sessions.length > 0;
  });

describe("a request that waits", () => {
  test("is answered with the next event", async () => {
    const waiting = read(owner, `after=${start}&wait=30`);
    await listening();
    await happen(shop);
    expect(typesOf(await waiting)).toEqual(["box.changed"]);
  });

  test("is answered with none when its time is over", async () => {
    await happen(other);
    const { last } = await findLogEnds(sql);
    expect(await read(owner, `after=${start}&wait=1`)).toEqual({ events: [], after: last, more: false });
  });

  test("is one of four of a caller", async () => {
    const waiting = Array.from({ length: 5 }, () => ask(owner, `after=${start}&wait=30`));
    const refused = await Promise.race(waiting);
    expect([outcome(refused), refused.body["reason"]]).toEqual(["429 RATE_LIMIT", "TOO_MANY_WAITS"]);
    await happen(shop);
    const outcomes = (await Promise.all(waiting)).map(outcome);
    expect(outcomes.toSorted()).toEqual(["200", "200", "200", "200", "429 RATE_LIMIT"]);
    expect(outcome(await ask(owner, `after=${start}&wait=30`))).toBe("200");
  });

  test("is woken only for events of its partner and types", async () => {
    const woken: string[] = [];
    const watch = (name: string, partner: cast.Bakery | null, types: string[] | null) =>
      watchEvents({ partnerId: partner?.id ?? null, types, wake: () => woken.push(name) });
    const ends = [
      watch("all", null, null),
      watch("shop", shop, null),
      watch("other", other, null),
      watch("expired", null, ["box.expired"]),
    ];
    // at first the position of each is unknown
    await until(async () => {
      await happen(shop);
      return woken.includes("other");
    });
    woken.length = 0;
    await happen(shop);
    await until(() => woken.length > 0);
    expect([...new Set(woken)].toSorted()).toEqual(["all", "shop"]);
    for (const end of ends) end();
  });

  // the last test, because no request waits afterwards
  test("is answered at once when the process stops", async () => {
    const waiting = read(owner, `after=${start}&wait=30`);
    await listening();
    endEventWaits();
    expect((await waiting).events).toEqual([]);
  });
});
