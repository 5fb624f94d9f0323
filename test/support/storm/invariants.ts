import { ledger } from "./ledger-invariants.js";
import { openJobs } from "./traffic.js";

/** What must hold in the database after a storm, whatever clients asked for. */
export interface Invariant {
  rule: string;
  /** Selects one row for each inconsistency, with its description in `what`. */
  broken: string;
}

/** Kinds that are not sent when their order has moved on. */
const droppable = "('ORDER_ACCEPTED', 'ORDER_READY', 'NEW_ORDER')";

const work: readonly Invariant[] = [
  {
    rule: "every job is done, but for codes that may or may not have been sent",
    broken: `
      select 'job ' || id || ' of ' || queue || ' is open after ' || attempts || ' attempts: ' || coalesce(last_error, '') as what
      ${openJobs}
      union all
      select 'job ' || id || ' of ' || queue || ' is dead after ' || attempts || ' attempts: ' || coalesce(last_error, '')
      from staged_jobs
      where dead_at is not null and not (queue = 'sms' and last_error like '%the code may or may not have been sent%')`,
  },
  {
    rule: "every fact has one job of its own",
    broken: `
      with fact as (
        select 'fan-out' as queue, 'ORDER_' || case when from_status is null then 'PLACED' else to_status::text end as event,
               order_id as id
        from order_events
        union all
        select 'fan-out', 'REVIEW_PUBLISHED', id from reviews
        union all
        select 'push', null, id from notifications
        union all
        select 'sms', null, id from otp
        union all
        select 'images', null, id from files where status in ('STORED', 'READY')
      ), job as (
        select queue, payload ->> 'event' as event,
               coalesce(
                 payload ->> 'subjectId', payload ->> 'notificationId', payload ->> 'otpId', payload ->> 'fileId'
               )::uuid as id
        from staged_jobs
        where queue in ('fan-out', 'push', 'sms', 'images')
      )
      select fact.id || ' has ' || count(job.id) || ' jobs ' || coalesce(fact.event, fact.queue) as what
      from fact
      left join job on job.queue = fact.queue and job.id = fact.id and job.event is not distinct from fact.event
      group by fact.queue, fact.event, fact.id
      having count(job.id) <> 1`,
  },
];

/** The moves of orders as types of events, in their order. */
const orderFacts = `
  select order_id, position,
         'order.' || case when from_status is null then 'placed' else lower(to_status::text) end as type
  from order_events`;

const log: readonly Invariant[] = [
  {
    rule: "the event log has each move of an order once",
    broken: `
      with fact as (${orderFacts}), event as (
        select (data ->> 'orderId')::uuid as order_id, type from events where type like 'order.%'
        union all
        select (data ->> 'orderId')::uuid, type from new_events where type like 'order.%'
      ), counted as (
        select order_id, type, 1 as facts, 0 as events from fact
        union all
        select order_id, type, 0, 1 from event
      )
      select 'order ' || order_id || ' has ' || sum(facts) || ' moves and ' || sum(events) || ' events ' || type as what
      from counted
      group by order_id, type
      having sum(facts) <> sum(events)`,
  },
  {
    rule: "the events of an order are in the order of its moves",
    broken: `
      with fact as (${orderFacts}), placed as (
        select fact.order_id, fact.position, e.type,
               rank() over (partition by fact.order_id order by e.position) as place
        from events e
        join fact on fact.order_id = (e.data ->> 'orderId')::uuid and fact.type = e.type
        where e.type like 'order.%'
      )
      select 'event ' || type || ' of order ' || order_id || ' is number ' || place || ', its move ' || position as what
      from placed
      where place <> position`,
  },
  {
    rule: "positions of the event log have no gap, but at another server or day",
    broken: `
      select 'no event has a position between ' || earlier || ' and ' || position as what
      from (select position, lag(position) over (order by position) as earlier from events) as placed
      where position <> earlier + 1 and position - earlier < 1000000000
        and position / positions_a_day() = earlier / positions_a_day()`,
  },
];

const sales: readonly Invariant[] = [
  {
    rule: "a box has reserved what its orders hold",
    broken: `
      select 'box ' || b.id || ' has ' || b.quantity_reserved || ' reserved and ' || sold.qty || ' sold' as what
      from boxes b
      cross join lateral (
        select coalesce(sum(i.qty), 0) as qty
        from order_items i
        join orders o on o.id = i.order_id and o.status <> 'CANCELLED'
        where i.box_id = b.id
      ) as sold
      where b.quantity_reserved <> sold.qty`,
  },
  {
    rule: "a promo is used as often as its orders say, within its limits",
    broken: `
      with used as (
        select promo_id, user_id, count(*) as times from promo_redemptions where returned_at is null group by promo_id, user_id
      )
      select 'promo ' || p.code || ' says ' || p.uses || ' uses of ' || coalesce(sum(used.times), 0) || ' by orders' as what
      from promo_codes p
      left join used on used.promo_id = p.id
      group by p.id
      having p.uses <> coalesce(sum(used.times), 0) or p.uses > p.max_uses or max(used.times) > p.max_uses_per_user
      union all
      select 'order ' || o.id || ' has a discount of ' || o.discount_minor || ' and its promo is ' ||
             case when r.order_id is null then 'none' when r.returned_at is null then 'used' else 'returned' end
      from orders o
      left join promo_redemptions r on r.order_id = o.id
      where (o.discount_minor > 0) <> (r.order_id is not null)
         or (r.returned_at is not null) <> (r.order_id is not null and o.status = 'CANCELLED')`,
  },
  {
    rule: "a customer's score is the sum of the ledger, which has every completed order once",
    broken: `
      select 'the score of ' || a.user_id || ' is ' || a.points || ' and its ledger says ' || coalesce(sum(e.points), 0) as what
      from loyalty_accounts a
      left join loyalty_entries e on e.user_id = a.user_id
      group by a.user_id
      having a.points <> coalesce(sum(e.points), 0) or a.food_saved_grams <> coalesce(sum(e.grams), 0)
          or a.orders_completed <> count(e.id) filter (where e.kind = 'ORDER')
      union all
      select 'order ' || o.id || ' is ' || o.status || ' and has ' || count(e.id) || ' entries in the ledger'
      from orders o
      left join loyalty_entries e on e.order_id = o.id and e.kind = 'ORDER'
      where o.user_id is not null
      group by o.id
      having count(e.id) <> (o.status = 'COMPLETED')::integer`,
  },
  {
    rule: "a rating is that of the reviews",
    broken: `
      select 'partner ' || r.partner_id || ' has another rating than its ' || count(*) || ' reviews' as what
      from reviews r
      left join partner_ratings p on p.partner_id = r.partner_id
      where review_is_shown(r.status)
      group by r.partner_id, p.rating_sum, p.review_count
      having p.rating_sum is distinct from sum(r.rating) or p.review_count is distinct from count(*)`,
  },
  {
    rule: "a day that is rolled up has the figures of its orders",
    broken: `
      with settled as (
        select d.* from rollup_days d
        where d.rolled_up_at is not null
          and not exists (select from rollup_changes c where c.at >= d.from_at and c.at < d.until_at)
      ), counted as (
        select d.day, o.partner_id, count(*) as orders, sum(o.amount_due_minor) as gmv, sum(o.commission_minor) as commission
        from settled d
        join orders o on o.created_at >= d.from_at and o.created_at < d.until_at and o.status <> 'CANCELLED'
        group by d.day, o.partner_id
      )
      select 'the rollup of ' || coalesce(r.partner_id, c.partner_id) || ' says ' || coalesce(r.orders, 0) || ' orders of ' ||
             coalesce(c.orders, 0) as what
      from (select * from rollup_partners where day in (select day from settled)) as r
      full join counted c on c.day = r.day and c.partner_id = r.partner_id
      where (r.orders, r.gmv_minor, r.commission_minor) is distinct from (c.orders, c.gmv, c.commission)`,
  },
];

const partners: readonly Invariant[] = [
  {
    rule: "every event of a POS is applied",
    broken: `
      select 'event ' || event_id || ' of a till is ' || status || ': ' || coalesce(last_error, '') as what
      from pos_events
      where status <> 'PROCESSED'`,
  },
  {
    rule: "a partner's events are applied in order: ids of orders follow the clock",
    broken: `
      select 'event ' || event_id || ' of a till was applied before an earlier one' as what
      from (
        select e.event_id, p.order_id, max(p.order_id::text) over earlier as latest
        from pos_events e
        join pos_orders p
          on (p.partner_id, p.provider, p.account, 'order.created:' || p.external_id)
            = (e.partner_id, e.provider, e.account, e.event_id)
        window earlier as (partition by e.partner_id order by e.id rows between unbounded preceding and 1 preceding)
      ) as applied
      where order_id::text < latest`,
  },
  {
    rule: "every import is done",
    broken: `
      select 'import ' || id || ' is ' || status || ': ' || coalesce(failure, '') as what from menu_imports where status <> 'DONE'`,
  },
  {
    rule: "a menu has every item once",
    broken: `
      select count(*) || ' items of ' || partner_id || ' are called ' || name as what
      from menu_items
      group by partner_id, category_id, name
      having count(*) > 1`,
  },
  {
    rule: "every sync is settled",
    broken: "select 'sync ' || id || ' is ' || status as what from pos_syncs where settled_at is null",
  },
];

const messages: readonly Invariant[] = [
  {
    rule: "every notification is sent, or dropped because its order has moved on",
    broken: `
      select n.kind || ' ' || n.id || ' is ' || n.status || ': ' || coalesce(n.reason, '') as what
      from notifications n
      left join orders o on o.id = n.order_id
      where n.settled_at is null
         or not (n.status = 'SENT' or n.status = 'DROPPED' and n.kind in ${droppable} and o.status <> 'ACCEPTED')`,
  },
  {
    rule: "every delivery has a result, unless its order has moved on meanwhile, so that its notification need not be sent",
    broken: `
      select 'the delivery of ' || d.notification_id || ' to ' || d.device_id || ' is ' || d.status || ': ' ||
             coalesce(d.reason, '') as what
      from notification_deliveries d
      join notifications n on n.id = d.notification_id
      left join orders o on o.id = n.order_id
      where d.status not in ('SENT', 'UNKNOWN')
        and not (d.status in ('LATER', 'SENDING') and n.kind in ${droppable} and o.status <> 'ACCEPTED')
        or d.status = 'SENDING' and n.status <> 'SENT'`,
  },
  {
    rule: "points that an order earned are announced once",
    broken: `
      select 'the points of order ' || e.order_id || ' are announced ' || count(n.id) || ' times' as what
      from loyalty_entries e
      left join notifications n on n.order_id = e.order_id and n.kind = 'POINTS_EARNED' and n.user_id = e.user_id
      where e.kind = 'ORDER' and e.points > 0
      group by e.id
      having count(n.id) <> 1`,
  },
];

export const invariants: readonly Invariant[] = [...work, ...log, ...ledger, ...sales, ...partners, ...messages];
