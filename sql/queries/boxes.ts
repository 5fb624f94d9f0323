import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { countRows, firstRow, hasRows } from "../rows.js";

export type BoxStatus = Enum<"boxStatus">;

export interface NewBox {
  title: string;
  description: string | null;
  priceMinor: number;
  originalPriceMinor: number | null;
  weightGrams: number | null;
  quantity: number;
  /** How many one customer may have; null: any number. */
  maxPerCustomer: number | null;
  pickupWindowStart: Date;
  pickupWindowEnd: Date;
  repeat: Repeat | null;
  /** The name of its image, which the caller has claimed. */
  image: string | null;
  /** Menu items of the same partner, each once. */
  items: { menuItemId: string; qty: number }[];
}

/** The days of the week (1 is Monday) on which a box is listed again, and the last day (YYYY-MM-DD), in the partner's zone. */
export interface Repeat {
  days: number[];
  until: string;
}

/** What changes of a box return. */
export interface BoxState {
  id: string;
  title: string;
  quantityAvailable: number;
  status: BoxStatus;
}

/** Inserts a box and stages its event for followers of the partner; undefined, and nothing written, when an item is not on the partner's menu. */
export const insertBox = (db: Db, partnerId: string, box: NewBox, requestId: string | null = null) =>
  firstRow(db<BoxState[]>`
    with contents as (
      select m.id, wanted.qty
      from unnest(
        ${box.items.map(({ menuItemId }) => menuItemId)}::uuid[],
        ${box.items.map(({ qty }) => qty)}::integer[]
      ) as wanted (id, qty)
      join menu_items m on m.id = wanted.id and m.partner_id = ${partnerId}::uuid and m.archived_at is null
    ), new_box as (
      insert into boxes (
        partner_id, city_id, title, description, price_minor, original_price_minor, weight_grams, quantity_available,
        max_per_customer, pickup_window_start, pickup_window_end, repeat_days, repeat_until, image
      )
      select p.id, p.city_id, ${box.title}, ${box.description}, ${box.priceMinor}::bigint, ${box.originalPriceMinor}::bigint,
             ${box.weightGrams}::integer, ${box.quantity}::integer, ${box.maxPerCustomer}::integer,
             ${box.pickupWindowStart}::timestamptz, ${box.pickupWindowEnd}::timestamptz, ${box.repeat?.days ?? null}::smallint[],
             ${box.repeat?.until ?? null}::date, ${box.image}
      from partners p
      where p.id = ${partnerId}::uuid and (select count(*) from contents) = ${box.items.length}::integer
      returning id, title, quantity_available, status,
                stage_job('fan-out', jsonb_build_object('event', 'BOX_LISTED', 'subjectId', id), ${requestId}::text),
                record_event('box.listed', partner_id, box_facts(boxes))
    ), new_items as (
      insert into box_items (box_id, menu_item_id, qty)
      select new_box.id, contents.id, contents.qty from new_box, contents
    )
    select id, title, quantity_available, status from new_box`);

export interface BoxRow {
  id: string;
  partnerId: string;
  title: string;
  description: string | null;
  priceMinor: number;
  originalPriceMinor: number | null;
  weightGrams: number | null;
  quantityAvailable: number;
  maxPerCustomer: number | null;
  pickupWindowStart: Date;
  pickupWindowEnd: Date;
  /** Null when the window has ended: the box is EXPIRED, even before `expireBoxes` marks it. */
  status: BoxStatus | null;
  hidden: boolean;
  /** The name of its image. */
  image: string | null;
}

export interface BoxItemRow {
  menuItemId: string;
  name: string;
  qty: number;
}

/** Finds a box that the public may see, with its contents (null: none). */
export const findBox = (db: Db, id: string) =>
  firstRow(db<(BoxRow & { items: BoxItemRow[] | null })[]>`
    select b.id, b.partner_id, b.title, b.description, b.price_minor, b.original_price_minor, b.weight_grams,
           b.max_per_customer, b.quantity_available, b.pickup_window_start, b.pickup_window_end,
           case when b.pickup_window_end > now() then b.status end as status,
           b.hidden_at is not null as hidden, b.image,
           (
             select jsonb_agg(jsonb_build_object('menuItemId', m.id, 'name', m.name, 'qty', i.qty) order by m.id)
             from box_items i
             join menu_items m on m.id = i.menu_item_id
             where i.box_id = b.id
           ) as items
    from boxes b
    join partners p on p.id = b.partner_id
    where b.id = ${id}::uuid and box_is_visible(b, p)`);

/** A box in a partner's list, with its repetition. */
export interface PartnerBoxRow extends BoxRow {
  repeatDays: number[] | null;
  repeatUntil: string | null;
}

/** A box as its partner sees it. */
export interface OwnBoxRow extends PartnerBoxRow {
  items: BoxItemRow[] | null;
  quantityReserved: number;
}

/** Finds a partner's box, hidden or not, with its contents (null: none). */
export const findOwnBox = (db: Db, id: string, partnerId: string) =>
  firstRow(db<OwnBoxRow[]>`
    select b.id, b.partner_id, b.title, b.description, b.price_minor, b.original_price_minor, b.weight_grams,
           b.max_per_customer, b.quantity_available, b.quantity_reserved, b.pickup_window_start, b.pickup_window_end,
           case when b.pickup_window_end > now() then b.status end as status,
           b.hidden_at is not null as hidden, b.image, b.repeat_days, b.repeat_until,
           (
             select jsonb_agg(jsonb_build_object('menuItemId', m.id, 'name', m.name, 'qty', i.qty) order by m.id)
             from box_items i
             join menu_items m on m.id = i.menu_item_id
             where i.box_id = b.id
           ) as items
    from boxes b
    where b.id = ${id}::uuid and b.partner_id = ${partnerId}::uuid and b.deleted_at is null`);

/** Locks a partner's box until the transaction ends, and finds it. */
export async function lockOwnBox(tx: Db, id: string, partnerId: string): Promise<OwnBoxRow | undefined> {
  await tx`select from boxes where id = ${id}::uuid and partner_id = ${partnerId}::uuid for no key update`;
  return findOwnBox(tx, id, partnerId);
}

/** Lists a partner's boxes, newest first, after the one with id `after`: those on offer, or with `all` also hidden and expired ones. */
export const listBoxesByPartner = (db: Db, partnerId: string, all: boolean, after: string | null, limit: number) =>
  db<PartnerBoxRow[]>`
    select b.id, b.partner_id, b.title, b.description, b.price_minor, b.original_price_minor, b.weight_grams,
           b.max_per_customer, b.quantity_available, b.pickup_window_start, b.pickup_window_end,
           case when b.pickup_window_end > now() then b.status end as status,
           b.hidden_at is not null as hidden, b.image, b.repeat_days, b.repeat_until
    from boxes b
    join partners p on p.id = b.partner_id
    where b.partner_id = ${partnerId}::uuid and b.deleted_at is null
      and (${all}::boolean or (box_is_visible(b, p) and box_is_open(b, now())))
      and (${after}::uuid is null or b.id < ${after}::uuid)
    order by b.id desc
    limit ${limit}`;

/** Updates a box's repetition, which may outlast its pickup window; undefined when the box is deleted. */
export const updateBoxRepeat = (db: Db, id: string, repeat: Repeat | null) =>
  firstRow(db<BoxState[]>`
    update boxes
    set repeat_days = ${repeat?.days ?? null}::smallint[], repeat_until = ${repeat?.until ?? null}::date, updated_at = now()
    where id = ${id}::uuid and deleted_at is null
    returning id, title, quantity_available, status`);

/** All new values of a box. */
export interface ChangedBox extends Omit<NewBox, "quantity" | "items"> {
  quantityAvailable: number;
}

/** Updates a box that `lockOwnBox` has locked. */
export const updateBox = (db: Db, id: string, box: ChangedBox) =>
  firstRow(db<BoxState[]>`
    update boxes
    set title = ${box.title}, description = ${box.description}, price_minor = ${box.priceMinor}::bigint,
        lowest_price_minor = coalesce(lowest_price_minor, price_minor),
        original_price_minor = ${box.originalPriceMinor}::bigint, weight_grams = ${box.weightGrams}::integer,
        max_per_customer = ${box.maxPerCustomer}::integer, quantity_available = ${box.quantityAvailable}::integer,
        status = case when ${box.quantityAvailable}::integer = 0 then 'SOLD_OUT' else 'ACTIVE' end::box_status,
        pickup_window_start = ${box.pickupWindowStart}::timestamptz, pickup_window_end = ${box.pickupWindowEnd}::timestamptz,
        repeat_days = ${box.repeat?.days ?? null}::smallint[], repeat_until = ${box.repeat?.until ?? null}::date,
        image = ${box.image}, updated_at = now()
    where id = ${id}::uuid
    returning id, title, quantity_available, status`);

/** Replaces the contents of a box that `lockOwnBox` has locked; false when an item is not on the partner's menu. */
export async function replaceBoxItems(
  db: Db,
  boxId: string,
  partnerId: string,
  items: readonly { menuItemId: string; qty: number }[],
): Promise<boolean> {
  await db`delete from box_items where box_id = ${boxId}::uuid`;
  const { count } = await db`
    insert into box_items (box_id, menu_item_id, qty)
    select ${boxId}::uuid, m.id, wanted.qty
    from unnest(
      ${items.map(({ menuItemId }) => menuItemId)}::uuid[],
      ${items.map(({ qty }) => qty)}::integer[]
    ) as wanted (id, qty)
    join menu_items m on m.id = wanted.id and m.partner_id = ${partnerId}::uuid and m.archived_at is null`;
  return count === items.length;
}

/**
 * Sets how many of a box can be ordered from now on, whatever was sold. When it was sold out, its event for followers is staged.
 * Undefined when the partner has no such box with an open pickup window.
 */
export const updateBoxQuantity = (
  db: Db,
  id: string,
  partnerId: string,
  quantityAvailable: number,
  requestId: string | null = null,
) =>
  firstRow(db<{ id: string; quantityAvailable: number }[]>`
    with before as materialized (
      select id, quantity_available
      from boxes b
      where id = ${id}::uuid and partner_id = ${partnerId}::uuid and deleted_at is null and box_is_open(b, now())
      for no key update
    ), changed as (
      update boxes b
      set quantity_available = ${quantityAvailable}::integer,
          status = case when ${quantityAvailable}::integer = 0 then 'SOLD_OUT' else 'ACTIVE' end::box_status,
          updated_at = now()
      from before
      where b.id = before.id
      returning b.id, b.quantity_available, case when before.quantity_available = 0 and b.quantity_available > 0 then
        stage_job('fan-out', jsonb_build_object('event', 'BOX_BACK', 'subjectId', b.id), ${requestId}::text)
      end as job, case when b.quantity_available <> before.quantity_available then
        record_event('box.changed', b.partner_id, box_facts(b))
      end as event
    )
    select id, quantity_available from changed`);

/** Hides or shows a box; undefined when the partner has no such box. */
export const updateBoxHidden = (db: Db, id: string, partnerId: string, hidden: boolean) =>
  firstRow(db<{ id: string }[]>`
    update boxes
    set hidden_at = case when ${hidden}::boolean then coalesce(hidden_at, now()) end, updated_at = now()
    where id = ${id}::uuid and partner_id = ${partnerId}::uuid and deleted_at is null
    returning id`);

/** Deletes a box without orders, or with cancelled ones only; false when the partner has no such box. */
export const deleteBox = (db: Db, id: string, partnerId: string) =>
  hasRows(db`
    update boxes
    set deleted_at = now(), hidden_at = coalesce(hidden_at, now()), repeat_days = null, repeat_until = null, updated_at = now()
    where id = ${id}::uuid and partner_id = ${partnerId}::uuid and deleted_at is null and quantity_reserved = 0`);

/** Marks up to `limit` boxes whose window has ended as EXPIRED; returns their number. Skips locked boxes: the next call marks them. */
export const expireBoxes = (db: Db, limit: number) =>
  countRows(db`
    update boxes set status = 'EXPIRED', updated_at = now()
    where id = any (array(
      select id from boxes where status <> 'EXPIRED' and pickup_window_end <= now() limit ${limit} for no key update skip locked
    ))`);

/** Lists a box again on the next local day on which its window has not ended; undefined when the partner has no such box, or its quantity is 0. */
export const repeatBox = (db: Db, id: string, partnerId: string, requestId: string | null = null) =>
  firstRow(db<{ id: string | null }[]>`
    with next_day as (
      select b.id, greatest(
        (now() at time zone local_zone(p.timezone, c.timezone))::date,
        (b.pickup_window_start at time zone local_zone(p.timezone, c.timezone))::date + 1
      ) as day
      from boxes b
      join partners p on p.id = b.partner_id
      join cities c on c.id = p.city_id
      where b.id = ${id}::uuid and b.partner_id = ${partnerId}::uuid and b.deleted_at is null
    )
    select (
      select coalesce(
        repeat_box(next_day.id, next_day.day, false, ${requestId}),
        repeat_box(next_day.id, next_day.day + 1, false, ${requestId})
      )
    )::text as id
    from next_day`);

/** A box that is to be listed again, and the local day of its window (YYYY-MM-DD). */
export interface Repetition {
  boxId: string;
  day: string;
}

/**
 * Lists up to `limit` repetitions that are due and that `repeat_box` would not refuse, those whose windows begin first: a day ahead, one
 * per day, and after missed runs while the window has not ended.
 */
export const listDueRepetitions = (db: Db, limit: number) =>
  db<Repetition[]>`
    with repeating as materialized (
      select b.id, b.repeat_days, b.repeat_until, b.pickup_window_start, b.pickup_window_end - b.pickup_window_start as length,
             local_zone(p.timezone, c.timezone) as zone
      from boxes b
      join partners p on p.id = b.partner_id and p.status = 'ACTIVE'
      join cities c on c.id = p.city_id
      where b.repeat_days is not null and b.deleted_at is null and b.hidden_at is null
        and b.quantity_available + b.quantity_reserved > 0
        -- for the index: in no zone was yesterday an earlier day
        and b.repeat_until >= (now() at time zone 'UTC')::date - 2
    )
    select b.id::text as box_id, coalesce(next.day, now()::date) as day
    from repeating b
    cross join lateral (
      select (now() at time zone b.zone)::date + ahead as day from generate_series(-1, 1) as ahead
    ) as next
    cross join lateral (
      select (next.day + (b.pickup_window_start at time zone b.zone)::time) at time zone b.zone as opens
    ) as moved
    where extract(isodow from next.day)::smallint = any (b.repeat_days)
      and next.day <= b.repeat_until
      and next.day > (b.pickup_window_start at time zone b.zone)::date
      and moved.opens <= now() + interval '24 hours'
      and moved.opens + b.length > now()
      and not exists (select from boxes done where done.repeats_id = b.id and done.repeats_on = next.day)
    order by moved.opens, b.id
    limit ${limit}`;

/** Lists boxes again, however many processes call it; returns for each, in their order, whether this call has. */
export const insertRepeatedBoxes = async (db: Db, due: readonly Repetition[]): Promise<boolean[]> =>
  (
    await db<{ listed: boolean }[]>`
      select coalesce(repeat_box(due.box_id, due.day, true) is not null, false) as listed
      from unnest(${due.map(({ boxId }) => boxId)}::uuid[], ${due.map(({ day }) => day)}::date[])
        with ordinality as due (box_id, day, place)
      order by due.place`
  ).map(({ listed }) => listed);
