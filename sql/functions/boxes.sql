-- Whether customers can see and order a box. Each function is one SQL expression, which Postgres inlines into the calling
-- statement, so that indexes apply.

-- Whether customers can see the box: it is not hidden (deleted boxes always are) and its partner is active. It may be sold out
-- or expired.
create or replace function box_is_visible(b boxes, p partners) returns boolean
language sql immutable parallel safe
as $$
  select b.hidden_at is null and p.status = 'ACTIVE'
$$;

-- Whether the box's pickup window has not ended. An upkeep task marks boxes as EXPIRED some time after it has. The window's end is
-- compared in a form that no index supports: by the index on window ends Postgres would read every box on offer.
create or replace function box_is_open(b boxes, at timestamptz) returns boolean
language sql immutable parallel safe
as $$
  select b.status <> 'EXPIRED' and b.pickup_window_end - at > interval '0'
$$;

-- Whether customers can order the box: it is visible, open and not sold out.
create or replace function box_is_on_offer(b boxes, p partners) returns boolean
language sql stable parallel safe
as $$
  select box_is_visible(b, p) and b.status = 'ACTIVE' and b.pickup_window_end - now() > interval '0'
$$;
