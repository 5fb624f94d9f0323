import type { Days } from "../../lib/domain/days.js";
import type { Db } from "../db.js";
import { onlyRow } from "../rows.js";

// A report sums the rolled-up days, and counts the other days, such as today, from orders and boxes ("live"). It is one
// statement, so that its snapshot has each day in exactly one of the two: see functions/rollups.sql.

/** The number of orders, without cancelled ones, and the sum of their amounts due, in minor units. */
export interface Totals {
  orders: number;
  gmvMinor: number;
}

export type Ranking = "gmv" | "orders";

/** Sums one partner's orders. */
export const findPartnerTotals = (db: Db, { zone, first, last }: Days, partnerId: string) =>
  onlyRow(db<Totals[]>`
    with live as materialized (
      select day, from_at, until_at from live_days(${zone}::text, ${first}::date, ${last}::date)
    ), parts as (
      select r.orders, r.gmv_minor
      from rollup_partners r
      where r.partner_id = ${partnerId}::uuid
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
      union all
      select count(*), sum(o.amount_due_minor)
      from live
      cross join lateral uncancelled_orders(live.from_at, live.until_at, ${partnerId}::uuid) o
    )
    select coalesce(sum(orders), 0)::bigint as orders, coalesce(sum(gmv_minor), 0)::bigint as gmv_minor from parts`);

export interface Dashboard extends Totals {
  commissionMinor: number;
  /** Partners that are active now and had an order. */
  activePartners: number;
  /** Of completed orders, by the present weights of their items; an item without a weight counts 0. */
  foodSavedGrams: number;
}

/** Sums the orders of all partners, or of one. */
export const findDashboard = (db: Db, { zone, first, last }: Days, partnerId: string | null) =>
  onlyRow(db<Dashboard[]>`
    with live as materialized (
      select day, from_at, until_at from live_days(${zone}::text, ${first}::date, ${last}::date)
    ), sold as materialized (
      select o.partner_id, count(*) as orders, sum(o.amount_due_minor) as gmv_minor, sum(o.commission_minor) as commission_minor
      from live
      cross join lateral uncancelled_orders(live.from_at, live.until_at, ${partnerId}::uuid) o
      group by o.partner_id
    ), parts as (
      select orders, gmv_minor, commission_minor, 0 as grams from sold
      union all
      select 0, 0, 0, l.qty * coalesce(b.weight_grams, m.weight_grams, 0)
      from live
      cross join lateral uncancelled_lines(live.from_at, live.until_at, ${partnerId}::uuid) l
      left join boxes b on b.id = l.box_id
      left join menu_items m on m.id = l.menu_item_id
      where l.status = 'COMPLETED'
      union all
      select r.orders, r.gmv_minor, r.commission_minor, r.saved_grams
      from rollup_days r
      where ${partnerId}::uuid is null
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
      union all
      select r.orders, r.gmv_minor, r.commission_minor, r.saved_grams
      from rollup_partners r
      where r.partner_id = ${partnerId}::uuid
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
      union all
      -- weight changes that are not applied to the rollups yet
      select 0, 0, 0, r.picked_up * (coalesce(b.weight_grams, m.weight_grams, 0) - r.weight_grams)
      from weight_changes w
      join rollup_items r on r.item_id = w.item_id
      left join boxes b on b.id = w.item_id
      left join menu_items m on m.id = w.item_id
      where (${partnerId}::uuid is null or r.partner_id = ${partnerId}::uuid)
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
    ), active as (
      select p.id from partners p where ${partnerId}::uuid is null and p.status = 'ACTIVE'
      union all
      select p.id from partners p where p.id = ${partnerId}::uuid and p.status = 'ACTIVE'
    ), with_orders as (
      select active.id
      from active
      -- one look-up per partner: there are far fewer partners than partner days
      left join lateral (
        select r.partner_id
        from rollup_partners r
        where r.partner_id = active.id
          and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
        order by r.day desc
        limit 1
      ) as before on true
      where before.partner_id is not null or active.id in (select sold.partner_id from sold)
    )
    select coalesce(sum(orders), 0)::bigint as orders,
           coalesce(sum(gmv_minor), 0)::bigint as gmv_minor,
           coalesce(sum(commission_minor), 0)::bigint as commission_minor,
           coalesce((select count(*) from with_orders), 0) as active_partners,
           coalesce(sum(grams), 0)::bigint as food_saved_grams
    from parts`);

export interface RankedBox extends Totals {
  boxId: string;
  title: string;
}

/** Lists the boxes with the most orders or the highest sales: the amounts due, less each line's share of its order's discount. */
export const listTopBoxes = (
  db: Db,
  { zone, first, last }: Days,
  partnerId: string | null,
  by: Ranking,
  limit: number,
) =>
  db<RankedBox[]>`
    with live as materialized (
      select day, from_at, until_at from live_days(${zone}::text, ${first}::date, ${last}::date)
    ), parts as (
      select r.item_id as box_id, r.orders, r.gmv_minor
      from rollup_items r
      where ${partnerId}::uuid is null and r.is_box
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
      union all
      select r.item_id, r.orders, r.gmv_minor
      from rollup_items r
      where r.partner_id = ${partnerId}::uuid and r.is_box
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
      union all
      select l.box_id, 1, line_due_minor(l.price_minor, l.qty, l.total_minor, l.amount_due_minor)
      from live
      cross join lateral uncancelled_lines(live.from_at, live.until_at, ${partnerId}::uuid) l
      where l.box_id is not null
    ), ranked as (
      select box_id, sum(orders)::bigint as orders, sum(gmv_minor)::bigint as gmv_minor
      from parts
      group by box_id
      order by case ${by}::text when 'orders' then sum(orders) end desc, 3 desc, box_id
      limit ${limit}
    )
    select b.id as box_id, b.title, coalesce(ranked.orders, 0) as orders, coalesce(ranked.gmv_minor, 0) as gmv_minor
    from ranked
    join boxes b on b.id = ranked.box_id
    order by case ${by}::text when 'orders' then ranked.orders end desc, ranked.gmv_minor desc, b.id`;

export interface RankedPartner extends Totals {
  partnerId: string;
  name: string;
}

/** Lists the partners with the most orders or the highest sales. */
export const listTopPartners = (
  db: Db,
  { zone, first, last }: Days,
  partnerId: string | null,
  by: Ranking,
  limit: number,
) =>
  db<RankedPartner[]>`
    with live as materialized (
      select day, from_at, until_at from live_days(${zone}::text, ${first}::date, ${last}::date)
    ), parts as (
      select r.partner_id, r.orders, r.gmv_minor
      from rollup_partners r
      where ${partnerId}::uuid is null
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
      union all
      select r.partner_id, r.orders, r.gmv_minor
      from rollup_partners r
      where r.partner_id = ${partnerId}::uuid
        and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
      union all
      select o.partner_id, 1, o.amount_due_minor
      from live
      cross join lateral uncancelled_orders(live.from_at, live.until_at, ${partnerId}::uuid) o
    ), ranked as (
      select partner_id, sum(orders)::bigint as orders, sum(gmv_minor)::bigint as gmv_minor
      from parts
      group by partner_id
      order by case ${by}::text when 'orders' then sum(orders) end desc, 3 desc, partner_id
      limit ${limit}
    )
    select p.id as partner_id, p.name, coalesce(ranked.orders, 0) as orders, coalesce(ranked.gmv_minor, 0) as gmv_minor
    from ranked
    join partners p on p.id = ranked.partner_id
    order by case ${by}::text when 'orders' then ranked.orders end desc, ranked.gmv_minor desc, p.id`;

export interface HourCount {
  hour: number;
  count: number;
}

/**
 * Returns a query that counts orders or listed boxes per local hour of the day, 0 to 23. One partner's are few, and always
 * counted from orders and boxes.
 */
const countByHour =
  (of: "orders" | "listings") =>
  (db: Db, { zone, first, last, from, until }: Days, partnerId: string | null) =>
    db<HourCount[]>`
      with live as materialized (
        select day, from_at, until_at
        from live_days(${zone}::text, ${first}::date, ${last}::date)
        where ${partnerId}::uuid is null
        union all
        select ${first}::date, ${from}::timestamptz, ${until}::timestamptz where ${partnerId}::uuid is not null
      ), parts as (
        select r.hour, case ${of}::text when 'orders' then r.orders else r.listings end as count
        from rollup_hours r
        where ${partnerId}::uuid is null
          and r.day between ${first}::date and ${last}::date and r.day not in (select live.day from live)
        union all
        select extract(hour from o.created_at at time zone ${zone}::text)::integer, count(*)
        from live
        cross join lateral uncancelled_orders(live.from_at, live.until_at, ${partnerId}::uuid) o
        where ${of}::text = 'orders'
        group by 1
        union all
        select extract(hour from b.created_at at time zone ${zone}::text)::integer, count(*)
        from live
        cross join lateral listed_boxes(live.from_at, live.until_at, ${partnerId}::uuid) b
        where ${of}::text = 'listings'
        group by 1
      )
      select coalesce(hours.hour, 0) as hour, coalesce(sum(parts.count), 0)::bigint as count
      from generate_series(0, 23) as hours (hour)
      left join parts on parts.hour = hours.hour
      group by hours.hour
      order by hours.hour`;

export const listOrdersByHour = countByHour("orders");
export const listListingsByHour = countByHour("listings");
