import type { Invariant } from "./invariants.js";

/** Invariants of the ledger, however often its workers were killed. */
export const ledger: readonly Invariant[] = [
  {
    rule: "the ledger has each order that was handed over, up to where it has read the log",
    broken: `
      select 'order ' || (e.data ->> 'orderId') || ' was handed over and is not booked' as what
      from events e, ledger_state s
      where e.type = 'order.completed' and e.position <= s.position
        and not exists (select from ledger_entries l where l.transaction_id = (e.data ->> 'orderId')::uuid)`,
  },
  {
    rule: "the ledger says of an order what the order says",
    broken: `
      with booked as (
        select order_id, sum(amount_minor) filter (where account = 'SALES') as sales,
               sum(amount_minor) filter (where account = 'TILL') as till,
               coalesce(sum(amount_minor) filter (where account = 'COMMISSION'), 0) as commission,
               sum(amount_minor) as all_lines
        from ledger_entries
        where kind in ('SALE', 'PROMO', 'COMMISSION')
        group by order_id
      )
      select 'order ' || b.order_id || ' is ' || coalesce(o.status::text || ', of ' || o.total_minor, 'gone') || ', and booked with ' || b.sales as what
      from booked b
      left join orders o on o.id = b.order_id
      where o.status is distinct from 'COMPLETED' or b.sales is distinct from - o.total_minor
        or b.till is distinct from o.amount_due_minor or b.commission is distinct from o.commission_minor or b.all_lines <> 0`,
  },
  {
    rule: "balances are the sums of their lines",
    broken: `
      select 'partner ' || b.partner_id || ' has the balance ' || b.balance_minor || ' and lines of ' || coalesce(l.sum, 0) as what
      from ledger_balances b
      left join (
        select partner_id, sum(amount_minor) from ledger_entries where account = 'BALANCE' group by partner_id
      ) as l using (partner_id)
      where b.balance_minor <> coalesce(l.sum, 0)`,
  },
];
