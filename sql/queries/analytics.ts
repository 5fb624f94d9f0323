import type { Days } from "../../lib/days.js";
import type { Db } from "../db.js";

/** How many orders there were, without those cancelled, and what was due for them, in minor units. */
export interface Totals {
  orders: number;
  gmvMinor: number;
}

export type Ranking = "gmv" | "orders";

const noTotals: Totals = { orders: 0, gmvMinor: 0 };

/** Adds up one partner's orders. */
export const findPartnerTotals = async (db: Db, { from, until }: Days, partnerId: string) => {
  const [totals] = await db<Totals[]>`
    select count(*) as orders, coalesce(sum(o.amount_due_minor), 0)::bigint as "gmvMinor"
    from orders_that_count(${from}::timestamptz, ${until}::timestamptz, ${partnerId}::uuid) o`;
  return totals ?? noTotals;
};

export interface Dashboard extends Totals {
  commissionMinor: number;
  /** Partners that are active now and had an order. */
  activePartners: number;
  /** Of orders that were picked up; what has no weight counts nothing. */
  foodSavedGrams: number;
}

/** Adds up the orders of all partners, or of one. */
export const findDashboard = async (db: Db, { from, until }: Days, partnerId: string | null) => {
  const [dashboard] = await db<Dashboard[]>`
    with sold as (
      select o.partner_id, count(*) as orders, sum(o.amount_due_minor) as gmv_minor, sum(o.commission_minor) as commission_minor
      from orders_that_count(${from}::timestamptz, ${until}::timestamptz, ${partnerId}::uuid) o
      group by o.partner_id
    ), saved as (
      select sum(l.qty * coalesce(b.weight_grams, m.weight_grams, 0)) as grams
      from lines_that_count(${from}::timestamptz, ${until}::timestamptz, ${partnerId}::uuid) l
      left join boxes b on b.id = l.box_id
      left join menu_items m on m.id = l.menu_item_id
      where l.status = 'COMPLETED'
    )
    select coalesce(sum(sold.orders), 0)::bigint as orders,
           coalesce(sum(sold.gmv_minor), 0)::bigint as "gmvMinor",
           coalesce(sum(sold.commission_minor), 0)::bigint as "commissionMinor",
           count(*) filter (where p.status = 'ACTIVE') as "activePartners",
           coalesce(max(saved.grams), 0)::bigint as "foodSavedGrams"
    from sold
    join partners p on p.id = sold.partner_id
    cross join saved`;
  return dashboard ?? { ...noTotals, commissionMinor: 0, activePartners: 0, foodSavedGrams: 0 };
};

export interface RankedBox extends Totals {
  boxId: string;
  title: string;
}

/** Lists the boxes that were ordered most, or for most: for a box counts what was due for it, its share of the order's discount taken off. */
export const listTopBoxes = (db: Db, { from, until }: Days, partnerId: string | null, by: Ranking, limit: number) =>
  db<RankedBox[]>`
    with ranked as (
      select l.box_id, count(*) as orders,
             sum(
               case
                 when l.amount_due_minor = l.total_minor then l.price_minor * l.qty
                 else round(l.price_minor * l.qty * l.amount_due_minor::numeric / l.total_minor)
               end
             )::bigint as gmv_minor
      from lines_that_count(${from}::timestamptz, ${until}::timestamptz, ${partnerId}::uuid) l
      where l.box_id is not null
      group by l.box_id
      order by case ${by}::text when 'orders' then count(*) end desc, 3 desc, l.box_id
      limit ${limit}
    )
    select b.id as "boxId", b.title, coalesce(ranked.orders, 0) as orders, coalesce(ranked.gmv_minor, 0) as "gmvMinor"
    from ranked
    join boxes b on b.id = ranked.box_id
    order by case ${by}::text when 'orders' then ranked.orders end desc, ranked.gmv_minor desc, b.id`;

export interface RankedPartner extends Totals {
  partnerId: string;
  name: string;
}

/** Lists the partners that had most orders, or sold most. */
export const listTopPartners = (db: Db, { from, until }: Days, partnerId: string | null, by: Ranking, limit: number) =>
  db<RankedPartner[]>`
    with ranked as (
      select o.partner_id, count(*) as orders, sum(o.amount_due_minor)::bigint as gmv_minor
      from orders_that_count(${from}::timestamptz, ${until}::timestamptz, ${partnerId}::uuid) o
      group by o.partner_id
      order by case ${by}::text when 'orders' then count(*) end desc, 3 desc, o.partner_id
      limit ${limit}
    )
    select p.id as "partnerId", p.name, coalesce(ranked.orders, 0) as orders, coalesce(ranked.gmv_minor, 0) as "gmvMinor"
    from ranked
    join partners p on p.id = ranked.partner_id
    order by case ${by}::text when 'orders' then ranked.orders end desc, ranked.gmv_minor desc, p.id`;

export interface HourCount {
  hour: number;
  count: number;
}

/** Counts the orders of each hour of the day, 0 to 23, as clocks in the zone show it. */
export const listOrdersByHour = (db: Db, { from, until, zone }: Days, partnerId: string | null) =>
  db<HourCount[]>`
    with counted as (
      select extract(hour from o.created_at at time zone ${zone}::text)::integer as hour, count(*) as orders
      from orders_that_count(${from}::timestamptz, ${until}::timestamptz, ${partnerId}::uuid) o
      group by 1
    )
    select coalesce(hours.hour, 0) as hour, coalesce(counted.orders, 0) as count
    from generate_series(0, 23) as hours (hour)
    left join counted on counted.hour = hours.hour
    order by hours.hour`;

/** Counts the boxes that were listed in each hour of the day, 0 to 23, as clocks in the zone show it. */
export const listListingsByHour = (db: Db, { from, until, zone }: Days, partnerId: string | null) =>
  db<HourCount[]>`
    with counted as (
      select extract(hour from l.created_at at time zone ${zone}::text)::integer as hour, count(*) as boxes
      from boxes_listed(${from}::timestamptz, ${until}::timestamptz, ${partnerId}::uuid) l
      group by 1
    )
    select coalesce(hours.hour, 0) as hour, coalesce(counted.boxes, 0) as count
    from generate_series(0, 23) as hours (hour)
    left join counted on counted.hour = hours.hour
    order by hours.hour`;
