-- What customers see of a box, and whether they can order it. Each is one SQL expression, which Postgres writes into the
-- statement that calls it: indexes serve as if the conditions stood there.

-- Customers see the box: it is not hidden, as deleted boxes always are, and its partner is active. It may be sold out or expired.
create or replace function box_is_visible(b boxes, p partners) returns boolean
language sql immutable parallel safe
as $$
  select b.hidden_at is null and p.status = 'ACTIVE'
$$;

-- The box's pickup window is not over. A sweep marks boxes as EXPIRED some time after their window.
create or replace function box_is_open(b boxes, at timestamptz) returns boolean
language sql immutable parallel safe
as $$
  select b.status <> 'EXPIRED' and b.pickup_window_end > at
$$;

-- Customers can order the box: it is visible, open and not sold out. The end of its window is compared in a way that no index
-- serves: by the index of the ends Postgres would read every box on offer.
create or replace function box_is_on_offer(b boxes, p partners) returns boolean
language sql stable parallel safe
as $$
  select box_is_visible(b, p) and b.status = 'ACTIVE' and b.pickup_window_end - now() > interval '0'
$$;
