-- Takes an order that a POS gave to the user with its customer's phone from that user, with its notifications and review. The POS's
-- later orders do not become theirs. False when the user has no such order, or placed it themselves.
create or replace function decline_pos_order(of_order uuid, declining uuid) returns boolean
language plpgsql
as $$
begin
  perform from orders where id = of_order and user_id = declining for no key update;
  update pos_orders set refused_by = declining
  where order_id = (select id from orders where id = of_order and user_id = declining);
  if not found then
    return false;
  end if;
  update orders set user_id = null, updated_at = now() where id = of_order;
  delete from notifications where order_id = of_order and user_id = declining;
  perform withdraw_review(of_order);
  return true;
end
$$;
