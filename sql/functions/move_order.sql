-- Moves an order from one of `allowed_statuses` to `target`, with all consequences or not at all. One call is one statement.
-- With `as_customer` or `as_partner` it finds only an order of that customer or partner. Outcomes: MOVED; ALREADY, it has this
-- status; NOT_ALLOWED from its present status; TOO_LATE for the customer; WRONG_CODE. No row when there is no such order.
-- `caused_by` is the id of the causing request, for the jobs it stages. `most_points` and `most_points_a_day` are for
-- credit_completed_order.
--
-- Rows are locked in the same order as in place_order: boxes by id, promo, loyalty accounts.
create or replace function move_order(
  of_order uuid,
  target order_status,
  allowed_statuses order_status[],
  mover order_actor,
  mover_id uuid,
  as_customer uuid,
  as_partner uuid,
  shown_pickup_code text,
  caused_by text,
  most_points integer,
  most_points_a_day integer
) returns table (outcome text, status order_status)
language plpgsql
as $$
#variable_conflict use_column
declare
  known orders;
begin
  select * into known
  from orders o
  where o.id = of_order
    and (as_customer is null or o.user_id = as_customer)
    and (as_partner is null or o.partner_id = as_partner)
  for no key update;
  if not found then
    return;
  end if;
  outcome := case
    when shown_pickup_code <> known.pickup_code then 'WRONG_CODE'
    when known.status = target then 'ALREADY'
    when known.status <> all (allowed_statuses) then 'NOT_ALLOWED'
    -- menu items are being made already; boxes can be cancelled until two hours before their pickup window
    when mover = 'CUSTOMER' and known.pickup_window_start is null and known.status <> 'ACCEPTED' then 'TOO_LATE'
    when mover = 'CUSTOMER' and known.pickup_window_start - interval '2 hours' <= statement_timestamp() then 'TOO_LATE'
    else 'MOVED'
  end;
  if outcome <> 'MOVED' then
    return query select outcome, known.status;
    return;
  end if;

  update orders set status = target, updated_at = statement_timestamp() where id = of_order;
  insert into order_events (order_id, position, actor_id, actor_role, from_status, to_status, at)
  select of_order, max(e.position) + 1, mover_id, mover, known.status, target, statement_timestamp()
  from order_events e
  where e.order_id = of_order;
  perform record_event(
    case target
      when 'READY' then 'order.ready'
      when 'COMPLETED' then 'order.completed'
      when 'CANCELLED' then 'order.cancelled'
      when 'NO_SHOW' then 'order.no_show'
    end,
    known.partner_id, jsonb_build_object('orderId', of_order, 'from', known.status, 'by', mover)
  );
  perform stage_job(
    'fan-out',
    jsonb_build_object(
      'event', case target
        when 'READY' then 'ORDER_READY'
        when 'COMPLETED' then 'ORDER_COMPLETED'
        when 'CANCELLED' then 'ORDER_CANCELLED'
        when 'NO_SHOW' then 'ORDER_NO_SHOW'
      end,
      'subjectId', of_order
    ),
    caused_by
  );

  if target = 'CANCELLED' then
    perform from boxes b
    where b.id in (select i.box_id from order_items i where i.order_id = of_order)
    order by b.id
    for no key update;
    perform stage_job('fan-out', jsonb_build_object('event', 'BOX_BACK', 'subjectId', b.id), caused_by)
    from boxes b
    join order_items i on i.order_id = of_order and i.box_id = b.id
    where b.quantity_available = 0;
    update boxes b
    set quantity_available = b.quantity_available + i.qty,
        quantity_reserved = b.quantity_reserved - i.qty,
        status = case when b.status = 'SOLD_OUT' then 'ACTIVE' else b.status end,
        updated_at = statement_timestamp()
    from order_items i
    where i.order_id = of_order and i.box_id = b.id;

    update promo_redemptions set returned_at = statement_timestamp() where order_id = of_order and returned_at is null;
    if found then
      update promo_codes p set uses = p.uses - 1
      from promo_redemptions r
      where r.order_id = of_order and p.id = r.promo_id;
    end if;
  elsif target = 'COMPLETED' and known.user_id is not null then
    perform credit_completed_order(of_order, most_points, most_points_a_day);
  end if;
  if target in ('CANCELLED', 'NO_SHOW') then
    perform withdraw_review(of_order);
  end if;
  return query select outcome, target;
end
$$;
