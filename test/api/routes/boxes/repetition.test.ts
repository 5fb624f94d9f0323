import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { repeatBoxes } from "../../../../workers/repeat-boxes.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { task } from "../../../support/task.js";

let api: Awaited<ReturnType<typeof startApi>>;
let bakery: cast.Bakery;

beforeAll(async () => {
  api = await startApi();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

beforeEach(async () => {
  bakery = await cast.bakery(api.client);
});

const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();
const put = (id: string, changes: object) => bakery.owner.client.put(`/api/v1/boxes/${id}`, changes);
const remove = (id: string) => bakery.owner.client.delete(`/api/v1/boxes/${id}`);

describe("a box that repeats by itself", () => {
  const repeated = async (id: string) =>
    sql<{ on: string; opens: Date; local: string; available: number }[]>`
      select repeats_on as on, pickup_window_start as opens, quantity_available as available,
             (pickup_window_start at time zone 'America/New_York')::time::text as local
      from boxes where repeats_id = ${id}::uuid order by repeats_on`;

  /** Lists a box that began `days` days ago and repeats every day. */
  async function repeatDaily(zone: string, opensInHours: number, until: string): Promise<string> {
    await sql`update partners set timezone = ${zone} where id = ${bakery.id}::uuid`;
    const id = await cast.listBox(bakery, {
      pickupWindowStart: hours(opensInHours),
      pickupWindowEnd: hours(opensInHours + 1),
      repeat: { days: [1, 2, 3, 4, 5, 6, 7], until },
    });
    await sql`
      update boxes
      set pickup_window_start = pickup_window_start - interval '5 days', pickup_window_end = pickup_window_end - interval '5 days'
      where id = ${id}::uuid`;
    return id;
  }

  test("a repeating box is listed once a day, a day ahead, never in the past, however often or late the task runs", async () => {
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    await Promise.all([runUpkeep(task({ task: "repeat-boxes" })), runUpkeep(task({ task: "repeat-boxes" }))]);
    await runUpkeep(task({ task: "repeat-boxes" }));
    const boxes = await repeated(id);
    expect(boxes).toHaveLength(1);
    expect(boxes[0]).toMatchObject({ available: 10 });
    expect(boxes[0]!.opens.getTime()).toBeGreaterThan(Date.now());
    expect(boxes[0]!.opens.getTime()).toBeLessThan(Date.now() + 24 * 3_600_000);
    // a missed listing is made up for while its window lasts
    await sql`delete from boxes where repeats_id = ${id}::uuid`;
    await sql`
      update boxes set pickup_window_start = pickup_window_start - interval '2 hours 30 minutes',
                       pickup_window_end = pickup_window_end - interval '2 hours 30 minutes'
      where id = ${id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    const late = (await repeated(id)).map(({ opens }) => Math.round((opens.getTime() - Date.now()) / 60_000));
    expect(late).toEqual([-30, 24 * 60 - 30]);
  });

  test("a box does not repeat after its last day, nor once it is changed, hidden, deleted or its partner suspended", async () => {
    const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 10);
    const ended = await repeatDaily("UTC", 2, yesterday);
    const stopped = await repeatDaily("UTC", 2, "2199-01-01");
    await sql`update boxes set repeat_days = null, repeat_until = null where id = ${stopped}::uuid`;
    const deleted = await repeatDaily("UTC", 2, "2199-01-01");
    await remove(deleted);
    const hidden = await repeatDaily("UTC", 2, "2199-01-01");
    await bakery.owner.client.post(`/api/v1/boxes/${hidden}/hide`);
    const suspended = await repeatDaily("UTC", 2, "2199-01-01");
    await sql`update partners set status = 'SUSPENDED' where id = ${bakery.id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    for (const id of [ended, stopped, deleted, hidden, suspended]) expect(await repeated(id)).toEqual([]);
  });

  test("the partner's people see a box's repetition, and can end it after the window is over", async () => {
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    const shown = async (by: Client, query = "") =>
      (await by.get(`/api/v1/boxes/by-partner/${bakery.id}${query}`)).list.find((box) => box["id"] === id);
    expect(await shown(bakery.owner.client, "?all=true")).toMatchObject({
      status: "EXPIRED",
      repeat: { days: [1, 2, 3, 4, 5, 6, 7], until: "2199-01-01" },
    });
    expect(outcome(await put(id, { repeat: null }))).toBe("200");
    expect(await shown(bakery.owner.client, "?all=true")).toMatchObject({ repeat: null });
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toEqual([]);
    const visible = await cast.listBox(bakery);
    const [box] = (await api.client.get(`/api/v1/boxes/by-partner/${bakery.id}`)).list;
    expect([box?.["id"], box && "repeat" in box]).toEqual([visible, false]);
  });

  test("a time zone that Postgres does not know does not stop other partners' boxes", async () => {
    const other = await cast.bakery(api.client);
    await sql`update partners set timezone = 'US/Pacific-New' where id = ${other.id}::uuid`;
    const stuck = await cast.listBox(other, { repeat: { days: [1, 2, 3, 4, 5, 6, 7], until: "2199-01-01" } });
    await sql`
      update boxes
      set pickup_window_start = pickup_window_start - interval '5 days', pickup_window_end = pickup_window_end - interval '5 days'
      where id = ${stuck}::uuid`;
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toHaveLength(1);
    expect(await repeated(stuck)).toHaveLength(1);
  });

  test("however many boxes are due, no statement lists more than 500", async () => {
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    const copies = await sql<{ id: string }[]>`
      insert into boxes (
        partner_id, city_id, title, price_minor, quantity_available, pickup_window_start, pickup_window_end, repeat_days, repeat_until
      )
      select partner_id, city_id, title, price_minor, quantity_available, pickup_window_start, pickup_window_end, repeat_days, repeat_until
      from boxes, generate_series(1, 600)
      where id = ${id}::uuid
      returning id::text`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    // created_at is when the transaction began
    const statements = await sql<{ boxes: number }[]>`
      select count(*) as boxes from boxes where repeats_id = any (${copies.map((copy) => copy.id)}::uuid[]) group by created_at`;
    expect(statements.reduce((sum, { boxes }) => sum + boxes, 0)).toBe(600);
    for (const { boxes } of statements) expect(boxes).toBeLessThanOrEqual(500);
  });

  test("a box that cannot be listed keeps no other from its turn, and fails the task", async () => {
    const broken = await repeatDaily("UTC", 1, "2199-01-01");
    const other = await repeatDaily("UTC", 2, "2199-01-01");
    await sql`
      create function refuse() returns trigger language plpgsql as $$
      begin
        raise exception 'refused';
      end
      $$`;
    await sql`update boxes set title = 'Broken' where id = ${broken}::uuid`;
    await sql`
      create trigger refuse before insert on boxes for each row when (new.title = 'Broken') execute function refuse()`;
    try {
      await expect(runUpkeep(task({ task: "repeat-boxes" }))).rejects.toThrow("refused");
    } finally {
      await sql`drop trigger refuse on boxes`;
    }
    expect(await repeated(other)).toHaveLength(1);
    expect(await repeated(broken)).toEqual([]);
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(broken)).toHaveLength(1);
  });

  test("boxes that are not to be listed take no place among those that are", async () => {
    await runUpkeep(task({ task: "repeat-boxes" }));
    const over = await repeatDaily("UTC", 1, "2199-01-01");
    await sql`
      update boxes
      set pickup_window_start = pickup_window_start - interval '3 hours', pickup_window_end = pickup_window_end - interval '3 hours'
      where id = ${over}::uuid`;
    const empty = await repeatDaily("UTC", 1, "2199-01-01");
    await sql`update boxes set quantity_available = 0 where id = ${empty}::uuid`;
    const listed = await repeatDaily("UTC", 2, "2199-01-01");
    // tomorrow's window of the first is due, today's is over
    expect(await repeatBoxes(sql, 1)).toBe(1);
    expect(await repeated(listed)).toHaveLength(1);
    expect(await repeated(empty)).toEqual([]);
    await repeatBoxes(sql, 1);
    expect(await repeated(over)).toHaveLength(1);
    expect(await repeatBoxes(sql, 1)).toBe(0);
  });

  test("a box repeats only on its days of the week", async () => {
    const id = await repeatDaily("UTC", 2, "2199-01-01");
    const opens = new Date(Date.now() + 2 * 3_600_000);
    const weekday = opens.getUTCDay() === 0 ? 7 : opens.getUTCDay();
    const others = [1, 2, 3, 4, 5, 6, 7].filter((day) => day !== weekday && day !== (weekday % 7) + 1);
    await sql`update boxes set repeat_days = ${others}::smallint[] where id = ${id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toEqual([]);
    await sql`update boxes set repeat_days = ${[weekday]}::smallint[] where id = ${id}::uuid`;
    await runUpkeep(task({ task: "repeat-boxes" }));
    expect(await repeated(id)).toHaveLength(1);
  });

  test.each([
    ["2030-03-10", "18:30:00"],
    ["2030-03-10", "00:30:00"],
    ["2030-11-03", "18:30:00"],
    ["2030-11-03", "23:59:00"],
    ["2030-06-15", "09:00:00"],
  ])("a repeated box keeps its local time when clocks change: %s at %s", async (day, time) => {
    const id = await repeatDaily("America/New_York", 2, "2199-01-01");
    await sql`
      update boxes
      set pickup_window_start = ('2030-03-01'::date + ${time}::time) at time zone 'America/New_York',
          pickup_window_end = ('2030-03-01'::date + ${time}::time) at time zone 'America/New_York' + interval '1 hour'
      where id = ${id}::uuid`;
    await sql`select repeat_box(${id}::uuid, ${day}::date, true)`;
    expect(await repeated(id)).toMatchObject([{ on: day, local: time }]);
  });
});
