import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { closeDatabase, sql, transaction, type Db } from "../../sql/db.js";
import { dropOldEvents, EVENT_DAYS, findLogEnds, listEvents, numberEvents } from "../../sql/queries/events.js";
import { lockRows } from "../support/locks.js";
import { randomFrom } from "../support/random.js";

afterAll(closeDatabase);

const DAY_MS = 24 * 60 * 60_000;
const POSITIONS_A_DAY = 100_000_000_000;
const MOST = 1_000;

/** The number of the day so many days ago. */
const dayNumber = (ago: number) => Math.floor(Date.now() / DAY_MS) - ago;
const positionsOf = (ago: number) => dayNumber(ago) * POSITIONS_A_DAY;
const partitionOf = (ago: number) =>
  `events_${new Date(dayNumber(ago) * DAY_MS).toISOString().slice(0, 10).replaceAll("-", "")}`;

const write = (db: Db, n: number) =>
  db`select record_event('box.sold_out', null, jsonb_build_object('n', ${n}::integer))`;

const partitions = async () =>
  (
    await sql<{ name: string }[]>`
      select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`
  ).map(({ name }) => name);

beforeEach(async () => {
  await sql`delete from new_events`;
  for (const name of await partitions()) await sql`select drop_partition(${name})`;
  await sql`update event_log set last_position = 0, dropped_position = 0, server = null`;
});

await sql`
  create function drop_partition(name text) returns void language plpgsql as $$ begin execute 'drop table ' || name; end $$`;

const Numbered = z.object({ n: z.int() });

/** A reader that continues from its last position. */
function reader() {
  let after = 0;
  const positions: number[] = [];
  const read = async (): Promise<number[]> => {
    const { last } = await findLogEnds(sql);
    const rows = await listEvents(sql, { after, until: last }, null, MOST);
    after = rows.at(-1)?.position ?? after;
    positions.push(...rows.map(({ position }) => position));
    return rows.map(({ data }) => Numbered.parse(data).n);
  };
  return { read, positions };
}

const numbered = () => numberEvents(sql, MOST);

describe("an event that is written first and committed last", () => {
  test("is missed by a reader that follows a plain sequence", async () => {
    await sql`create table plain (id bigint generated always as identity primary key, n integer)`;
    const commit = await lockRows((tx) => tx`insert into plain (n) values (1)`);
    await sql`insert into plain (n) values (2)`;
    const [seen] = await sql<{ id: number; n: number }[]>`select id, n from plain order by id desc limit 1`;
    expect(seen).toEqual({ id: 2, n: 2 });
    await commit();
    // it is visible now, below the reader's position
    expect(await sql`select n from plain where id > ${seen!.id}::bigint`).toHaveLength(0);
    expect(await sql`select n from plain where n = 1`).toHaveLength(1);
  });

  test("comes later in the log, and is not missed", async () => {
    const { read } = reader();
    const commit = await lockRows((tx) => write(tx, 1));
    await write(sql, 2);
    await numbered();
    expect(await read()).toEqual([2]);
    await commit();
    await numbered();
    expect(await read()).toEqual([1]);
  });
});

test("a reader sees each event once, however transactions commit and batches run", async () => {
  const { read, positions } = reader();
  const seen: number[] = [];
  const random = randomFrom(20_261_123);
  for (let round = 0; round < 12; round += 1) {
    const commits: (() => Promise<void>)[] = [];
    for (const n of [0, 1, 2]) commits.push(await lockRows((tx) => write(tx, round * 4 + n)));
    await write(sql, round * 4 + 3);
    for (const commit of random.shuffle(commits)) {
      await Promise.all([commit(), numbered(), read().then((rows) => seen.push(...rows)), numberEvents(sql, 1)]);
    }
  }
  while ((await numbered()) > 0);
  seen.push(...(await read()));
  expect(seen.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 48 }, (_, n) => n));
  // no position is skipped
  expect(positions).toEqual(positions.map((_, n) => positions[0]! + n));
});

test("events of one transaction, and those that wait for each other, are in the order of their writing", async () => {
  const { read } = reader();
  await transaction(async (tx) => {
    for (const n of [1, 2, 3]) await write(tx, n);
  });
  await write(sql, 4);
  await numberEvents(sql, 2);
  await numbered();
  expect(await read()).toEqual([1, 2, 3, 4]);
});

test("an event keeps its id, and a batch that is rolled back keeps its events", async () => {
  await write(sql, 1);
  const [before] = await sql<{ id: string }[]>`select id from new_events`;
  await expect(
    transaction(async (tx) => {
      expect(await numberEvents(tx, MOST)).toBe(1);
      throw new Error("the connection is lost");
    }),
  ).rejects.toThrow("the connection is lost");
  expect(await numbered()).toBe(1);
  const { last } = await findLogEnds(sql);
  expect(last).toBe(positionsOf(0) + 1);
  const [row] = await listEvents(sql, { after: 0, until: last }, null, MOST);
  expect(row?.id).toBe(before?.id);
});

describe("a day's partition", () => {
  test("is made by the first batch of the day, also when no upkeep ran for weeks, and while a reader is at work", async () => {
    await sql`select add_event_partition((now() at time zone 'UTC')::date - 20)`;
    await sql`update event_log set last_position = ${positionsOf(20) + 7}::bigint`;
    const end = await lockRows((tx) => tx`select from events limit 1`);
    await write(sql, 1);
    expect(await numbered()).toBe(1);
    await end();
    expect(await partitions()).toEqual([partitionOf(20), partitionOf(0)]);
    expect((await findLogEnds(sql)).last).toBe(positionsOf(0) + 1);
  });

  test("stays the present one when the clock is set back", async () => {
    await sql`update event_log set last_position = ${positionsOf(-1) + 7}::bigint`;
    await write(sql, 1);
    await numbered();
    expect((await findLogEnds(sql)).last).toBe(positionsOf(-1) + 8);
  });

  test(`is dropped after ${EVENT_DAYS} days, with a mark of what is gone`, async () => {
    for (const ago of [EVENT_DAYS + 2, EVENT_DAYS + 1, EVENT_DAYS]) {
      await sql`select add_event_partition((now() at time zone 'UTC')::date - ${ago}::integer)`;
      await sql`
        insert into events (position, id, type, version, at, data)
        values (${positionsOf(ago) + 5}::bigint, new_id(), 'box.sold_out', 1, now(), '{}')`;
    }
    expect(await dropOldEvents(sql)).toBe(2);
    expect(await partitions()).toEqual([partitionOf(EVENT_DAYS)]);
    expect((await findLogEnds(sql)).dropped).toBe(positionsOf(EVENT_DAYS + 1) + 5);
    expect(await dropOldEvents(sql)).toBe(0);
  });

  test("is not dropped while a reader is at work: nobody waits for that", async () => {
    await sql`select add_event_partition((now() at time zone 'UTC')::date - ${EVENT_DAYS + 1}::integer)`;
    const end = await lockRows((tx) => tx`select from events limit 1`);
    await expect(dropOldEvents(sql)).rejects.toMatchObject({ code: "55P03" });
    await end();
    expect(await dropOldEvents(sql)).toBe(1);
  });
});

test("on another server, which may have lost positions that readers have seen, none of them comes again", async () => {
  await write(sql, 1);
  await numbered();
  const { last } = await findLogEnds(sql);
  // as after a promotion
  await sql`update event_log set server = '1 00000001'`;
  await write(sql, 2);
  await write(sql, 3);
  await numbered();
  expect((await findLogEnds(sql)).last).toBe(last + 1_000_000_000 + 2);
  await write(sql, 4);
  await numbered();
  expect((await findLogEnds(sql)).last).toBe(last + 1_000_000_000 + 3);
});

test("without new events a batch writes nothing", async () => {
  const [before] = await sql<{ row: string }[]>`select xmin::text || ctid::text as row from event_log`;
  expect(await numbered()).toBe(0);
  expect(await sql`select xmin::text || ctid::text as row from event_log`).toEqual([before]);
});
