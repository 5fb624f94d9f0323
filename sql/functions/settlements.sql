-- The ledger and its statements. sql/README.md has the rules.

-- Trigger: refuses what changes or removes rows that are kept as they are.
create or replace function refuse_change() returns trigger
language plpgsql
as $$
begin
  raise exception 'rows of % are never changed', tg_table_name using errcode = 'restrict_violation';
end
$$;

-- Trigger: refuses lines of a transaction that do not add up to zero, and lines of months that are closed; adds the others to the
-- balances. A statement inserts whole transactions.
create or replace function check_ledger() returns trigger
language plpgsql
as $$
begin
  if exists (select from added a group by a.transaction_id, a.partner_id having sum(a.amount_minor) <> 0) then
    raise exception 'the lines of a transaction must add up to zero' using errcode = 'check_violation';
  end if;
  if exists (select from added a where a.month < (select s.open_month from ledger_state s)) then
    raise exception 'the month is closed' using errcode = 'check_violation';
  end if;
  insert into ledger_balances as b (partner_id, balance_minor)
  select a.partner_id, coalesce(sum(a.amount_minor) filter (where a.account = 'BALANCE'), 0)
  from added a
  group by a.partner_id
  order by a.partner_id
  on conflict (partner_id) do update
  set balance_minor = b.balance_minor + excluded.balance_minor, updated_at = now();
  return null;
end
$$;

-- Returns the month, by its first day, in whose statement a fact of this moment belongs.
create or replace function month_of(at timestamptz, in_zone text) returns date
language sql stable
as $$
  select date_trunc('month', at at time zone in_zone)::date
$$;

-- Books those of these orders that were handed over, and are not booked yet; returns the number of lines. `event_ids` are those of
-- the log, null where it is gone. The caller holds the lock on ledger_state.
create or replace function book_orders(order_ids uuid[], event_ids uuid[], in_zone text) returns integer
language plpgsql
as $$
declare
  first_open constant date := (select s.open_month from ledger_state s);
  lines integer;
begin
  insert into ledger_entries (
    transaction_id, partner_id, account, kind, amount_minor, month, occurred_at, order_id, event_id
  )
  select o.id, o.partner_id, line.account, line.kind, line.amount_minor, greatest(first_open, month_of(moved.at, in_zone)),
         moved.at, o.id, sold.event_id
  from unnest(order_ids, event_ids) as sold (order_id, event_id)
  join orders o on o.id = sold.order_id and o.status = 'COMPLETED'
  join order_events moved on moved.order_id = o.id and moved.to_status = 'COMPLETED'
  left join promo_redemptions redeemed on redeemed.order_id = o.id
  left join promo_codes code on code.id = redeemed.promo_id
  cross join lateral (
    values
      ('SALES'::ledger_account, 'SALE'::ledger_kind, - o.total_minor),
      ('TILL', 'SALE', o.amount_due_minor),
      -- a partner pays for the codes that hold only there
      (case when code.partner_id is null then 'BALANCE' else 'PROMO' end::ledger_account, 'PROMO', o.discount_minor),
      ('BALANCE', 'COMMISSION', - o.commission_minor),
      ('COMMISSION', 'COMMISSION', o.commission_minor)
  ) as line (account, kind, amount_minor)
  where line.kind = 'SALE' or line.amount_minor <> 0
  on conflict (transaction_id, account, kind) do nothing;
  get diagnostics lines = row_count;
  return lines;
end
$$;

-- Books the next events of the log, up to `most`; returns how many it read, or -1 when events were dropped that it has not read:
-- then book_orders_after makes up for them.
create or replace function book_events(most integer, in_zone text) returns integer
language plpgsql
as $$
declare
  ledger ledger_state;
  until_position bigint;
  taken integer;
  order_ids uuid[];
  event_ids uuid[];
begin
  select * into ledger from ledger_state for no key update;
  if ledger.position < (select l.dropped_position from event_log l) then
    return -1;
  end if;
  select max(next.position), count(*) into until_position, taken
  from (select e.position from events e where e.position > ledger.position order by e.position limit most) as next;
  if taken = 0 then
    return 0;
  end if;
  select array_agg((e.data ->> 'orderId')::uuid order by e.position), array_agg(e.id order by e.position)
  into order_ids, event_ids
  from events e
  where e.position > ledger.position and e.position <= until_position and e.type = 'order.completed';
  perform book_orders(order_ids, event_ids, in_zone);
  update ledger_state set position = until_position;
  return taken;
end
$$;

-- Books the orders of the next `most` ids after one, from the orders themselves; returns the last id, null after the last one.
create or replace function book_orders_after(after_id uuid, most integer, in_zone text) returns uuid
language plpgsql
as $$
declare
  ids uuid[];
begin
  perform from ledger_state for no key update;
  select array_agg(next.id order by next.id) into ids
  from (select o.id from orders o where after_id is null or o.id > after_id order by o.id limit most) as next;
  perform book_orders(ids, '{}', in_zone);
  return ids[cardinality(ids)];
end
$$;

-- Books two lines by hand: `amount` on the partner's balance, and its opposite on another account. Returns the transaction. The caller holds
-- the lock on ledger_state.
create or replace function book_by_hand(
  of_partner uuid, counter_account ledger_account, of_kind ledger_kind, amount bigint, at timestamptz, in_zone text,
  known_by text, why text, of_order uuid
) returns uuid
language plpgsql
as $$
declare
  transaction_id constant uuid := new_id();
begin
  insert into ledger_entries (
    transaction_id, partner_id, account, kind, amount_minor, month, occurred_at, order_id, reference, reason
  )
  select transaction_id, of_partner, line.account, of_kind, line.amount_minor, greatest(s.open_month, month_of(at, in_zone)), at,
         of_order, known_by, why
  from ledger_state s
  cross join (values ('BALANCE'::ledger_account, amount), (counter_account, - amount)) as line (account, amount_minor);
  return transaction_id;
end
$$;

-- Returns the figures of a month's statements of these partners, as they would be made now: of each with lines in the month.
-- `starts` is when the month began: orders that were handed over before are on it as what they change of the balance. It opens with
-- the balance of the last statement and with the months since then, whose statements are not made yet.
create or replace function draft_statements(of_partners uuid[], of_month date, starts timestamptz)
returns table (
  partner_id uuid, orders integer, sales_minor bigint, till_minor bigint, own_promo_minor bigint, platform_promo_minor bigint,
  commission_minor bigint, earlier_minor bigint, corrections_minor bigint, payouts_minor bigint, opening_minor bigint,
  closing_minor bigint
)
language sql stable
as $$
  select p.id, sums.orders::integer, coalesce(sums.sales, 0)::bigint, coalesce(sums.till, 0)::bigint,
         coalesce(sums.own_promo, 0)::bigint, coalesce(sums.platform_promo, 0)::bigint, coalesce(sums.commission, 0)::bigint,
         coalesce(sums.earlier, 0)::bigint, coalesce(sums.corrections, 0)::bigint, coalesce(sums.payouts, 0)::bigint,
         opening.minor, (opening.minor + coalesce(sums.balance, 0))::bigint
  from unnest(of_partners) as p (id)
  left join lateral (
    select s.month, s.closing_minor from statements s
    where s.partner_id = p.id and s.month < of_month
    order by s.month desc
    limit 1
  ) as last on true
  cross join lateral (
    select (coalesce(last.closing_minor, 0) + coalesce(sum(e.amount_minor), 0))::bigint as minor
    from ledger_entries e
    where e.partner_id = p.id and e.month > coalesce(last.month, '-infinity') and e.month < of_month and e.account = 'BALANCE'
  ) as opening
  cross join lateral (
    select count(*) as lines,
           count(*) filter (where e.account = 'SALES' and e.occurred_at >= starts) as orders,
           - sum(e.amount_minor) filter (where e.account = 'SALES' and e.occurred_at >= starts) as sales,
           sum(e.amount_minor) filter (where e.account = 'TILL' and e.occurred_at >= starts) as till,
           sum(e.amount_minor) filter (where e.account = 'PROMO' and e.occurred_at >= starts) as own_promo,
           sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.kind = 'PROMO' and e.occurred_at >= starts) as platform_promo,
           sum(e.amount_minor) filter (where e.account = 'COMMISSION' and e.occurred_at >= starts) as commission,
           sum(e.amount_minor) filter (
             where e.account = 'BALANCE' and e.kind in ('PROMO', 'COMMISSION') and e.occurred_at < starts
           ) as earlier,
           sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.kind = 'CORRECTION') as corrections,
           sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.kind = 'PAYOUT') as payouts,
           sum(e.amount_minor) filter (where e.account = 'BALANCE') as balance
    from ledger_entries e
    where e.partner_id = p.id and e.month = of_month
  ) as sums
  where sums.lines > 0
$$;

-- Makes the statements of a closed month for the next `most` partners after one, and stages the job of each document; returns the last
-- of these partners, null after the last of all, and how many statements it made. Partners that have theirs are passed over.
create or replace function make_statements(
  of_month date, in_zone text, of_currency text, after_partner uuid, most integer
) returns table (last_partner uuid, made integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  starts constant timestamptz := start_of_day(of_month, in_zone);
  ends constant timestamptz := start_of_day((of_month + interval '1 month')::date, in_zone);
  ledger ledger_state;
  due uuid[];
  added_ids uuid[];
begin
  select * into ledger from ledger_state for no key update;
  if of_month >= ledger.open_month then
    raise exception 'the month is not closed yet';
  end if;
  select (array_agg(next.partner_id order by next.partner_id desc))[1],
         array_agg(next.partner_id order by next.partner_id) filter (where not exists (
           select from statements s where s.partner_id = next.partner_id and s.month = of_month
         ))
  into last_partner, due
  from (
    select b.partner_id
    from ledger_balances b
    where after_partner is null or b.partner_id > after_partner
    order by b.partner_id
    limit most
  ) as next;

  with added as (
    insert into statements (
      number, partner_id, partner_name, month, zone, from_at, until_at, currency, orders, sales_minor, till_minor,
      own_promo_minor, platform_promo_minor, commission_minor, earlier_minor, corrections_minor, payouts_minor, opening_minor,
      closing_minor
    )
    select ledger.last_number + row_number() over (order by d.partner_id), d.partner_id,
           (select p.name from partners p where p.id = d.partner_id), of_month, in_zone, starts, ends, of_currency, d.orders,
           d.sales_minor, d.till_minor, d.own_promo_minor, d.platform_promo_minor, d.commission_minor, d.earlier_minor,
           d.corrections_minor, d.payouts_minor, d.opening_minor, d.closing_minor
    from draft_statements(due, of_month, starts) as d
    returning id
  )
  select count(*), array_agg(id) into made, added_ids from added;
  if made > 0 then
    update ledger_state set last_number = ledger.last_number + made;
    perform stage_jobs('statements', jsonb_agg(jsonb_build_object('statementId', id)), '{}') from unnest(added_ids) as id;
  end if;
  return next;
end
$$;

-- Makes an extract of a partner's days, with a number of its own series, and stages the job of its document. `is_new` is false when there is
-- one of these days that is still right: nothing was booked since that happened on them or before. `extract_id` is null when the partner
-- has got `most_a_day` extracts within 24 hours; null: any number. An extract takes no line from the statement of its month.
create or replace function make_extract(
  of_partner uuid, of_first_day date, of_last_day date, in_zone text, of_currency text, most_a_day integer, caused_by text
) returns table (extract_id uuid, is_new boolean)
language plpgsql
as $$
declare
  starts constant timestamptz := start_of_day(of_first_day, in_zone);
  ends constant timestamptz := start_of_day(of_last_day + 1, in_zone);
  known ledger_state;
begin
  -- what has happened is on it, though the task that books runs only once a minute
  loop
    exit when book_events(1000, in_zone) <= 0;
  end loop;
  select * into known from ledger_state for no key update;
  select s.id into extract_id
  from statements s
  where s.partner_id = of_partner and s.month is null and s.from_at = starts and s.until_at = ends
    and not exists (
      select from ledger_entries e
      where e.partner_id = of_partner and e.id > s.known_entry_id and e.occurred_at < ends
    );
  is_new := extract_id is null;
  if not is_new or most_a_day <= (
    select count(*) from statements s
    where s.partner_id = of_partner and s.month is null and s.created_at > now() - interval '24 hours'
  ) then
    return next;
    return;
  end if;

  extract_id := new_id();
  insert into statements (
    id, number, partner_id, partner_name, known_entry_id, zone, from_at, until_at, currency, orders, sales_minor, till_minor,
    own_promo_minor, platform_promo_minor, commission_minor, earlier_minor, corrections_minor, payouts_minor, opening_minor,
    closing_minor
  )
  select extract_id, known.last_extract + 1, of_partner, p.name, last.id, in_zone, starts, ends, of_currency, sums.orders,
         coalesce(sums.sales, 0), coalesce(sums.till, 0), coalesce(sums.own_promo, 0), coalesce(sums.platform_promo, 0),
         coalesce(sums.commission, 0), 0, coalesce(sums.corrections, 0), coalesce(sums.payouts, 0), coalesce(sums.opening, 0),
         coalesce(sums.closing, 0)
  from partners p
  cross join (select coalesce(max(e.id), 0) as id from ledger_entries e) as last
  cross join (
    select count(*) filter (where e.account = 'SALES' and e.occurred_at >= starts) as orders,
           - sum(e.amount_minor) filter (where e.account = 'SALES' and e.occurred_at >= starts) as sales,
           sum(e.amount_minor) filter (where e.account = 'TILL' and e.occurred_at >= starts) as till,
           sum(e.amount_minor) filter (where e.account = 'PROMO' and e.occurred_at >= starts) as own_promo,
           sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.kind = 'PROMO' and e.occurred_at >= starts) as platform_promo,
           sum(e.amount_minor) filter (where e.account = 'COMMISSION' and e.occurred_at >= starts) as commission,
           sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.kind = 'CORRECTION' and e.occurred_at >= starts) as corrections,
           sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.kind = 'PAYOUT' and e.occurred_at >= starts) as payouts,
           sum(e.amount_minor) filter (where e.account = 'BALANCE' and e.occurred_at < starts) as opening,
           sum(e.amount_minor) filter (where e.account = 'BALANCE') as closing
    from ledger_entries e
    where e.partner_id = of_partner and e.occurred_at < ends
  ) as sums
  where p.id = of_partner;
  update ledger_state set last_extract = known.last_extract + 1;
  perform stage_job('statements', jsonb_build_object('statementId', extract_id), caused_by);
  return next;
end
$$;

-- Returns the lines on a statement: those of its month, whenever they happened; on an extract those of its days that it knows.
create or replace function lines_on_statement(of_statement uuid) returns setof ledger_entries
language sql stable
as $$
  select e.id, e.transaction_id, e.partner_id, e.account, e.kind, e.amount_minor, e.month, e.occurred_at, e.booked_at, e.order_id,
         e.event_id, e.reference, e.reason
  from statements s
  -- as a range, for the index
  join ledger_entries e on e.partner_id = s.partner_id
    and e.month >= coalesce(s.month, '-infinity') and e.month <= coalesce(s.month, 'infinity')
    and (s.month is not null or e.id <= s.known_entry_id and e.occurred_at >= s.from_at and e.occurred_at < s.until_at)
  where s.id = of_statement
$$;
