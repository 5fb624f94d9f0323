create type review_status as enum ('PUBLISHED', 'PENDING', 'APPROVED', 'REJECTED');

create table reviews (
  id uuid primary key default new_id(),
  -- one review per order
  order_id uuid not null unique references orders (id),
  user_id uuid not null references users (id),
  partner_id uuid not null references partners (id),
  rating smallint not null check (rating between 1 and 5),
  text text,
  status review_status not null default 'PUBLISHED',
  -- changes with every edit, so that a moderator decides only on the text they have read
  revision integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create index reviews_by_user on reviews (user_id, id);
create index reviews_by_partner on reviews (partner_id);
create index reviews_shown on reviews (partner_id, id) where status in ('PUBLISHED', 'APPROVED');
create index reviews_to_moderate on reviews (status, id);

-- The sum and the number of a partner's shown ratings, updated in the statement that changes a review.
create table partner_ratings (
  partner_id uuid primary key references partners (id),
  rating_sum bigint not null check (rating_sum >= 0),
  review_count integer not null check (review_count >= 0)
);
