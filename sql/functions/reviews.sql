-- Whether the public sees a review with this status, and the partner's rating includes it.
create or replace function review_is_shown(status review_status) returns boolean
language sql immutable
as $$
  select status in ('PUBLISHED', 'APPROVED')
$$;

-- Adds a shown review to a partner's rating.
create or replace function add_rating(of_partner uuid, stars integer) returns void
language sql
as $$
  insert into partner_ratings as known (partner_id, rating_sum, review_count)
  values (of_partner, stars, 1)
  on conflict (partner_id) do update
  set rating_sum = known.rating_sum + stars, review_count = known.review_count + 1
$$;

-- Rejects the review of an order that was cancelled or not picked up, and subtracts it from the partner's rating.
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

-- Publishes a customer's review of their order, with an event for the partner. Outcomes: PUBLISHED; CANCELLED, the order is
-- cancelled; NO_SHOW, it was not picked up; OWN_PARTNER, the author owns or works for the partner, or did when ordering; TWICE,
-- the order has a review. No row when the author has no such order.
create or replace function publish_review(of_order uuid, author uuid, stars integer, review_text text, caused_by text)
returns table (outcome text, id uuid)
language plpgsql
as $$
#variable_conflict use_column
declare
  reviewed orders;
begin
  -- the lock prevents a concurrent cancellation or no-show
  select * into reviewed from orders o where o.id = of_order and o.user_id = author for share;
  if not found then
    return;
  end if;
  outcome := case
    when reviewed.status in ('CANCELLED', 'NO_SHOW') then reviewed.status::text
    when reviewed.by_member or author in (select partner_members(reviewed.partner_id)) then 'OWN_PARTNER'
  end;
  if outcome is not null then
    return next;
    return;
  end if;
  insert into reviews (order_id, user_id, partner_id, rating, text)
  values (of_order, author, reviewed.partner_id, stars, review_text)
  on conflict (order_id) do nothing
  returning reviews.id into id;
  if id is null then
    return query select 'TWICE', null::uuid;
    return;
  end if;
  perform add_rating(reviewed.partner_id, stars);
  perform stage_job('fan-out', jsonb_build_object('event', 'REVIEW_PUBLISHED', 'subjectId', id), caused_by);
  perform record_event(
    'review.published', reviewed.partner_id, jsonb_build_object('reviewId', id, 'orderId', of_order, 'rating', stars)
  );
  return query select 'PUBLISHED', id;
end
$$;

-- Changes a review, its status and the partner's rating. It must have one of `allowed_statuses` and, when `read_revision` is
-- given, that revision; otherwise `moved` is false and both statuses are the present one. Null stars and text stay as they
-- are. No row when there is no such review or, with `author`, it has another author.
create or replace function change_review(
  of_review uuid, author uuid, allowed_statuses review_status[], target review_status, new_stars integer, new_text text,
  read_revision integer
) returns table (moved boolean, before review_status, status review_status)
language plpgsql
as $$
#variable_conflict use_column
declare
  known reviews;
begin
  select * into known from reviews r where r.id = of_review and (author is null or r.user_id = author) for no key update;
  if not found then
    return;
  end if;
  if known.status <> all (allowed_statuses) or read_revision <> known.revision then
    return query select false, known.status, known.status;
    return;
  end if;
  update reviews r
  set rating = coalesce(new_stars, r.rating), text = coalesce(new_text, r.text), status = target, updated_at = now(),
      revision = r.revision + case when new_stars is null and new_text is null then 0 else 1 end
  where r.id = of_review;
  if review_is_shown(known.status) then
    update partner_ratings
    set rating_sum = rating_sum - known.rating, review_count = review_count - 1
    where partner_id = known.partner_id;
  end if;
  if review_is_shown(target) then
    perform add_rating(known.partner_id, coalesce(new_stars, known.rating));
  end if;
  return query select true, known.status, target;
end
$$;
