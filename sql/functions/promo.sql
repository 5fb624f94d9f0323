-- Returns why a promo cannot be used for an order of this amount; null when it can. A caller that redeems it locks its row
-- first, so that two orders cannot take the last use. Uses by former accounts of the buyer count too. Before there is an order, `seller` is null: any partner then passes.
create or replace function promo_refusal(
  promo promo_codes, buyer uuid, seller uuid, amount_minor bigint, at timestamptz
) returns text
language plpgsql
as $$
begin
  return case
    when promo.id is null or not promo.active then 'UNKNOWN'
    when promo.starts_at > at then 'NOT_STARTED'
    when promo.ends_at <= at then 'ENDED'
    when promo.partner_id <> seller then 'OTHER_PARTNER'
    when amount_minor < promo.min_order_minor then 'MINIMUM_NOT_MET'
    when promo.uses >= promo.max_uses then 'USED_UP'
    when (
      select count(*) from promo_redemptions r
      where r.user_id in (select accounts_of(buyer)) and r.promo_id = promo.id and r.returned_at is null
    ) >= promo.max_uses_per_user then 'USED_BY_YOU'
  end;
end
$$;

-- Returns the discount on an amount, in minor units: half a unit is rounded up, and it never exceeds the amount.
create or replace function promo_discount(promo promo_codes, amount_minor bigint) returns bigint
language sql immutable
as $$
  select least(
    amount_minor,
    promo.max_discount_minor,
    coalesce(promo.discount_minor, round(amount_minor * promo.discount_percent / 100)::bigint)
  )
$$;
