-- Whether the public sees a review of this status, and the rating counts it.
create or replace function review_is_shown(status review_status) returns boolean
language sql immutable
as $$
  select status in ('PUBLISHED', 'APPROVED')
$$;

-- Adds a shown review to a partner's rating.
create or replace function add_rating(rated uuid, stars integer) returns void
language sql
as $$
  insert into partner_ratings as known (partner_id, rating_sum, review_count)
  values (rated, stars, 1)
  on conflict (partner_id) do update
  set rating_sum = known.rating_sum + stars, review_count = known.review_count + 1
$$;

-- Takes the review of an order that is cancelled out of what is shown, and out of the rating.
create or replace function withdraw_review(of_order uuid) returns void
language sql
as $$
  with withdrawn as (
    update reviews r set status = 'REJECTED', updated_at = now()
    from (select id, status from reviews where order_id = of_order for no key update) as before
    where r.id = before.id
    returning r.partner_id, r.rating, before.status
  )
  update partner_ratings p
  set rating_sum = rating_sum - withdrawn.rating, review_count = review_count - 1
  from withdrawn
  where p.partner_id = withdrawn.partner_id and review_is_shown(withdrawn.status)
$$;

-- Publishes a customer's review of their order: PUBLISHED, or CANCELLED (the order), TWICE (it has one), or no row (not theirs).
create or replace function publish_review(of_order uuid, author uuid, stars integer, words text)
returns table (outcome text, id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  reviewed orders;
begin
  -- it is not cancelled meanwhile
  select * into reviewed from orders o where o.id = of_order and o.user_id = author for share;
  if not found then
    return;
  end if;
  if reviewed.status = 'CANCELLED' then
    return query select 'CANCELLED', null::uuid;
    return;
  end if;
  insert into reviews (order_id, user_id, partner_id, rating, text)
  values (of_order, author, reviewed.partner_id, stars, words)
  on conflict (order_id) do nothing
  returning reviews.id into id;
  if id is null then
    return query select 'TWICE', null::uuid;
    return;
  end if;
  perform add_rating(reviewed.partner_id, stars);
  return query select 'PUBLISHED', id;
end
$$;

-- Changes a review and its status, and the rating with it. Only a review that has one of the statuses `allowed`, and that is
-- the author's where one is given, is changed; its status then and before, or the one it has, is answered. With `read` only
-- that revision of it is changed. No row: not theirs.
create or replace function change_review(
  changed uuid, author uuid, allowed review_status[], target review_status, stars integer, words text, read integer
) returns table (moved boolean, before review_status, status review_status)
language plpgsql
as $$
#variable_conflict use_column
declare
  known reviews;
begin
  select * into known from reviews r where r.id = changed and (author is null or r.user_id = author) for no key update;
  if not found then
    return;
  end if;
  if known.status <> all (allowed) or read <> known.revision then
    return query select false, known.status, known.status;
    return;
  end if;
  update reviews r
  set rating = coalesce(stars, r.rating), text = coalesce(words, r.text), status = target, updated_at = now(),
      revision = r.revision + case when stars is null and words is null then 0 else 1 end
  where r.id = changed;
  if review_is_shown(known.status) then
    update partner_ratings
    set rating_sum = rating_sum - known.rating, review_count = review_count - 1
    where partner_id = known.partner_id;
  end if;
  if review_is_shown(target) then
    perform add_rating(known.partner_id, coalesce(stars, known.rating));
  end if;
  return query select true, known.status, target;
end
$$;
