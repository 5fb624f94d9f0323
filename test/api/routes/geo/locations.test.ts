import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql, transaction, type Db } from "../../../../sql/db.js";
import { listPartnersNear } from "../../../../sql/queries/geo.js";
import { listOffersNear } from "../../../../sql/queries/offers.js";
import { onlyValue } from "../../../../sql/rows.js";
import { startApi, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { sized } from "../../../support/size.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  await sql`truncate partners, boxes cascade`;
});

interface Place {
  latitude: number;
  longitude: number;
}

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** The great-circle distance in metres by another formula than the service's: the angle between two vectors. */
function distance(one: Place, other: Place): number {
  const vector = ({ latitude, longitude }: Place) => {
    const [phi, lambda] = [radians(latitude), radians(longitude)];
    return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)] as const;
  };
  const [a, b] = [vector(one), vector(other)];
  const dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = Math.hypot(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
  return 6_371_008.8 * Math.atan2(cross, dot);
}

/** Creates an active partner with one box at each place; returns the boxes' ids in the same order. */
async function settle(places: readonly Place[], status = "ACTIVE") {
  await sql`insert into cities (id, name, timezone) values ('geo', 'Geo', 'UTC') on conflict do nothing`;
  const rows = sql.json(places.map(({ latitude, longitude }) => ({ latitude, longitude })));
  return sql<{ id: string; boxId: string; latitude: number; longitude: number }[]>`
    with settled as (
      insert into partners (slug, name, city_id, address, latitude, longitude, status)
      select 'geo-' || gen_random_uuid(), 'Geo', 'geo', '-', (place ->> 'latitude')::double precision,
             (place ->> 'longitude')::double precision, ${status}::partner_status
      from jsonb_array_elements(${rows}) place
      returning id, latitude, longitude
    ), offered as (
      insert into boxes (partner_id, city_id, title, price_minor, quantity_available, pickup_window_start, pickup_window_end)
      select id, 'geo', 'Набор', 1000, 1, now() + interval '1 hour', now() + interval '2 hours' from settled
      returning id, partner_id
    )
    select settled.id, offered.id as "boxId", settled.latitude, settled.longitude
    from settled join offered on offered.partner_id = settled.id`;
}

const nearby = (query: string) => api.client.get(`/api/v1/geo/partners/nearby?${query}`);
const partnersOf = ({ body }: Reply) => body["partners"] as { partnerId: string; distanceMeters: number }[];

async function walk<T>(path: string, rowsOf: (reply: Reply) => T[]): Promise<T[]> {
  const rows: T[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const reply: Reply = await api.client.get(next);
    expect([reply.status, reply.text]).toEqual([200, expect.anything()]);
    rows.push(...rowsOf(reply));
    next = /<(.*)>; rel="next"/.exec(reply.headers.get("link") ?? "")?.[1];
  }
  return rows;
}

/** Ordinary places and edge cases (poles, the date line), with partners close together. */
const centre = fc.oneof(
  fc.constantFrom(
    { latitude: 89.95, longitude: 10 },
    { latitude: -89.95, longitude: 170 },
    { latitude: 90, longitude: 0 },
    { latitude: -90, longitude: 0 },
    { latitude: 89.6, longitude: 179.9 },
    { latitude: 84.9, longitude: -179.999 },
    { latitude: 66, longitude: 180 },
    { latitude: 66, longitude: -180 },
    { latitude: 0, longitude: 179.99 },
    { latitude: 0, longitude: 0 },
    { latitude: 55.7558, longitude: 37.6173 },
  ),
  fc.record({
    latitude: fc.integer({ min: -90e6, max: 90e6 }).map((millionths) => millionths / 1e6),
    longitude: fc.integer({ min: -180e6, max: 180e6 }).map((millionths) => millionths / 1e6),
  }),
);

const offset = fc.record({
  bearing: fc.double({ min: 0, max: 360, noNaN: true }),
  metres: fc.integer({ min: 0, max: 70_000_000 }).map((millimetres) => millimetres / 1_000),
});

/** The place at a distance in metres and a direction. */
function beside({ latitude, longitude }: Place, { bearing, metres }: { bearing: number; metres: number }): Place {
  const [phi, delta, theta] = [radians(latitude), metres / 6_371_008.8, radians(bearing)];
  const there = Math.asin(Math.sin(phi) * Math.cos(delta) + Math.cos(phi) * Math.sin(delta) * Math.cos(theta));
  const turn = Math.atan2(
    Math.sin(theta) * Math.sin(delta) * Math.cos(phi),
    Math.cos(delta) - Math.sin(phi) * Math.sin(there),
  );
  const degrees = (radiansOf: number) => (radiansOf * 180) / Math.PI;
  const east = longitude + degrees(turn);
  return {
    latitude: Math.max(-90, Math.min(90, degrees(there))),
    longitude: Math.max(-180, Math.min(180, ((((east + 180) % 360) + 360) % 360) - 180)),
  };
}

const digits = (value: number) => value.toFixed(12);

test("partners and boxes nearby equal a measurement of all distances, in order, page by page, anywhere on Earth", async () => {
  await fc.assert(
    fc.asyncProperty(
      centre,
      fc.array(offset, { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 50_000 }),
      fc.integer({ min: 1, max: 7 }),
      async (middle, offsets, radius, limit) => {
        await sql`truncate partners, boxes cascade`;
        const there = await settle(offsets.map((each) => beside(middle, each)));
        const at = { latitude: Number(digits(middle.latitude)), longitude: Number(digits(middle.longitude)) };
        const measured = there
          .map(({ id, boxId, ...place }) => ({ id, boxId, metres: distance(at, place) }))
          .sort((one, other) => one.metres - other.metres);
        // a partner within a millimetre of the edge may be in or out
        const surely = measured.filter(({ metres }) => metres < radius - 0.001).map(({ id }) => id);
        const maybe = measured.filter(({ metres }) => metres < radius + 0.001);
        const query = `lat=${digits(at.latitude)}&lng=${digits(at.longitude)}&radius=${radius}&limit=${limit}`;

        const partners = await walk(`/api/v1/geo/partners/nearby?${query}`, partnersOf);
        const found = partners.map(({ partnerId }) => partnerId);
        expect(new Set(found).size).toBe(found.length);
        expect(found).toEqual(expect.arrayContaining(surely));
        expect(maybe.map(({ id }) => id)).toEqual(expect.arrayContaining(found));
        for (const { partnerId, distanceMeters } of partners) {
          const { metres } = measured.find(({ id }) => id === partnerId)!;
          expect(Math.abs(metres - distanceMeters)).toBeLessThan(0.06);
        }
        const distances = partners.map(({ distanceMeters }) => distanceMeters);
        expect(distances).toEqual([...distances].sort((one, other) => one - other));

        const boxes = await walk(`/api/v1/boxes?${query}`, ({ list }) => list);
        expect(new Set(boxes.map(({ partnerId }) => partnerId))).toEqual(new Set(found));
        expect(boxes).toHaveLength(found.length);
        expect(boxes.map(({ distanceMeters }) => distanceMeters)).toEqual(distances);
      },
    ),
    { numRuns: sized(80, 20) },
  );
});

describe("nearby partners", () => {
  const here = { latitude: 55.7558, longitude: 37.6173 };
  const at = "lat=55.7558&lng=37.6173";

  test("are active partners within 5,000 metres by default", async () => {
    await settle([here, beside(here, { bearing: 90, metres: 4_990 }), beside(here, { bearing: 90, metres: 5_010 })]);
    await settle([here], "SUSPENDED");
    expect(partnersOf(await nearby(at))).toHaveLength(2);
    expect(partnersOf(await nearby(`${at}&radius=5020`))).toHaveLength(3);
    expect(partnersOf(await nearby(`${at}&radius=100`))).toEqual([
      { partnerId: expect.any(String), ...here, distanceMeters: 0 },
    ]);
  });

  test.each([
    "",
    "lat=55",
    "lng=37",
    "lat=91&lng=0",
    "lat=0&lng=181",
    "lat=x&lng=0",
    "lat=NaN&lng=0",
    "lat=1e1&lng=0",
    "lat=0&lng=0&radius=50001",
    "lat=0&lng=0&radius=0",
    "lat=0&lng=0&radius=-1",
    "lat=0&lng=0&radius=x",
    "lat=0&lng=0&cursor=x",
    "lat=0&lng=0&limit=0",
  ])("%s: 400 VALIDATION_ERROR", async (query) => {
    const reply = await nearby(query);
    expect([reply.status, reply.body["code"]]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test("a moved partner is found at its new place, and the move is audited", async () => {
    const [partner] = await settle([here]);
    const admin = await cast.admin(api.client);
    const move = (partnerId: string) =>
      admin.client.post("/api/v1/geo/internal/locations", { partnerId, latitude: -33.9, longitude: 18.4 });
    const moved = await move(partner!.id);
    expect([moved.status, moved.body]).toEqual([200, {}]);
    expect(partnersOf(await nearby(at))).toEqual([]);
    expect(partnersOf(await nearby("lat=-33.9&lng=18.4"))).toHaveLength(1);
    expect((await move("01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f")).status).toBe(404);
    const audit = await sql<{ actorId: string; details: unknown }[]>`
      select actor_id, details from audit_events where subject_id = ${partner!.id}::uuid`;
    expect(audit).toEqual([{ actorId: admin.id, details: { latitude: -33.9, longitude: 18.4 } }]);
  });
});

describe("a search of a wide area", () => {
  const circle = { latitude: 10, longitude: 20, radius: 50_000 };
  const noFilter = { cityId: null, maxPriceMinor: null, availableFrom: null, availableTo: null };

  beforeEach(async () => {
    await settle(Array.from({ length: 1_000 }, (_, n) => ({ latitude: 10 + n / 10_000, longitude: 20 })));
    await sql`analyze partners, boxes`;
  });

  /** The number of rows of a table that a search reads, planned as if the tables were large. */
  const countRead = (table: string, search: (tx: Db) => Promise<unknown>): Promise<number> =>
    transaction(async (tx) => {
      for (const method of ["enable_seqscan", "enable_hashjoin", "enable_mergejoin"])
        await tx`select set_config(${method}, 'off', true)`;
      const count = () =>
        onlyValue(tx<{ rows: number }[]>`
          select (seq_tup_read + idx_tup_fetch)::integer as rows from pg_stat_xact_user_tables where relname = ${table}`);
      const before = await count();
      await search(tx);
      return (await count()) - before;
    });

  test("reads only the nearest partners and their boxes", async () => {
    expect(await countRead("partners", (tx) => listPartnersNear(tx, circle, null, 20))).toBeLessThan(100);
    for (const table of ["partners", "boxes"])
      expect(await countRead(table, (tx) => listOffersNear(tx, circle, noFilter, null, 20))).toBeLessThan(100);
  });

  test("reads no boxes of nearer partners for a later page", async () => {
    const last = (await listOffersNear(sql, circle, noFilter, null, 970)).at(-1)!;
    expect(await countRead("boxes", (tx) => listOffersNear(tx, circle, noFilter, last, 20))).toBeLessThan(100);
  });
});

describe("boxes on offer", () => {
  const cursorOf = (start: string) =>
    `cursor=${Buffer.from(JSON.stringify([start, "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f"])).toString("base64url")}`;
  const list = async (query = "") => (await api.client.get(`/api/v1/boxes?${query}`)).list;
  const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();
  const window = (opens: number) => ({ pickupWindowStart: hours(opens), pickupWindowEnd: hours(opens + 1) });
  let bakery: cast.Bakery;

  beforeEach(async () => {
    bakery = await cast.bakery(api.client);
  });

  test("are listed soonest first, page by page, without hidden, sold-out, expired boxes and those of inactive partners", async () => {
    const ids: string[] = [];
    for (const opens of [5, 2, 9, 2, 7]) ids.push(await cast.listBox(bakery, window(opens)));
    const [hidden, soldOut, over] = [
      await cast.listBox(bakery),
      await cast.listBox(bakery),
      await cast.listBox(bakery),
    ];
    await bakery.owner.client.post(`/api/v1/boxes/${hidden}/hide`);
    await bakery.owner.client.patch(`/api/v1/boxes/${soldOut}/quantity`, { quantityAvailable: 0 });
    await sql`
      update boxes set pickup_window_start = now() - interval '2 hours', pickup_window_end = now() - interval '1 minute'
      where id = ${over}::uuid`;
    const closed = await cast.bakery(api.client);
    await cast.listBox(closed);
    await sql`update partners set status = 'SUSPENDED' where id = ${closed.id}::uuid`;
    const expected = [1, 3, 0, 4, 2].map((n) => ids[n]);
    const walked = await walk("/api/v1/boxes?limit=2", (reply) => reply.list.map(({ id }) => id));
    expect(walked).toEqual(expected);
    expect(await list("lat=55.7575&lng=37.6135")).toHaveLength(5);
    const [first] = await list("limit=1");
    expect(first).toMatchObject({
      id: ids[1],
      partnerName: "Булочная на углу",
      distanceMeters: null,
      status: "ACTIVE",
    });
  });

  test("of one partner may be on several pages of a search", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await cast.listBox(bakery));
    const walked = await walk("/api/v1/boxes?lat=55.75&lng=37.61&limit=2", (reply) => reply.list.map(({ id }) => id));
    expect(walked).toEqual(ids.sort());
  });

  test("are filtered by city, price and time", async () => {
    const other = await cast.bakery(api.client);
    await other.owner.client.put("/api/v1/partners/me", { cityId: "omsk" });
    const here = await cast.listBox(bakery, { price: 100, ...window(2) });
    const late = await cast.listBox(bakery, { price: 300, ...window(10) });
    const omsk = await cast.listBox(other, { price: 200, ...window(2) });
    const idsOf = async (query: string) => (await list(query)).map(({ id }) => id);
    for (const place of ["", "&lat=55.7575&lng=37.6135"]) {
      expect(await idsOf(`cityId=omsk${place}`)).toEqual([omsk]);
      expect(await idsOf(`cityId=moscow${place}`)).toEqual([here, late]);
      expect(await idsOf(`cityId=nowhere${place}`)).toEqual([]);
      expect(new Set(await idsOf(`maxPrice=200${place}`))).toEqual(new Set([here, omsk]));
      expect(await idsOf(`availableFrom=${hours(5)}${place}`)).toEqual([late]);
      expect(new Set(await idsOf(`availableTo=${hours(5)}${place}`))).toEqual(new Set([here, omsk]));
      expect(await idsOf(`availableFrom=${hours(5)}&availableTo=${hours(6)}${place}`)).toEqual([]);
    }
    // the boxes move with the partner
    await other.owner.client.put("/api/v1/partners/me", { cityId: "tomsk" });
    expect([await idsOf("cityId=tomsk"), await idsOf("cityId=omsk")]).toEqual([[omsk], []]);
  });

  test.each([
    "lat=55",
    "lng=37",
    "maxPrice=-1",
    "maxPrice=1.001",
    "availableFrom=yesterday",
    "cityId=a%20b",
    "cursor=eyJ9",
    cursorOf("x"),
    cursorOf("99999-99-99 99:99:99"),
    cursorOf("2026-02-30 12:00:00+00"),
    cursorOf("0000-01-01 12:00:00+00"),
    cursorOf("2026-06-01 12:00:00"),
  ])("%s: 400", async (query) => {
    expect((await api.client.get(`/api/v1/boxes?${query}`)).status).toBe(400);
  });
});
