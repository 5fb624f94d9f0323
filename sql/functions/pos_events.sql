-- Has a job look into a partner's mailbox, at `due_at` or before: the one that is on its way and has not begun, which is
-- brought forward when it would come later, else a new one. Answers whether there is more to hand over than before.
-- `known_job` is that of the mailbox, whose row the caller has locked.
create or replace function ring_pos_mailbox(of_partner uuid, known_job bigint, due_at timestamptz, caused_by text) returns boolean
language plpgsql
as $$
declare
  new_job bigint;
begin
  if known_job is not null then
    -- one that was handed over begins by itself, and sees what is there by then
    update staged_jobs set run_at = due_at, next_send_at = least(next_send_at, due_at)
    where id = known_job and done_at is null and dead_at is null and sends = 0 and run_at > due_at;
    if found then
      return true;
    end if;
    perform from staged_jobs where id = known_job and done_at is null and dead_at is null;
    if found then
      return false;
    end if;
  end if;
  insert into staged_jobs (queue, payload, request_id, run_at, next_send_at)
  values ('pos-events', jsonb_build_object('partnerId', of_partner, 'eventId', null), caused_by, due_at, due_at)
  returning id into new_job;
  update pos_mailboxes set job_id = new_job where partner_id = of_partner;
  return true;
end
$$;

-- Locks a partner's mailbox, which it makes at the first event, and answers the job that is on its way to it.
create or replace function lock_pos_mailbox(of_partner uuid) returns bigint
language plpgsql
as $$
declare
  known_job bigint;
begin
  select job_id into known_job from pos_mailboxes where partner_id = of_partner for update;
  if not found then
    insert into pos_mailboxes (partner_id) values (of_partner) on conflict do nothing;
    select job_id into known_job from pos_mailboxes where partner_id = of_partner for update;
  end if;
  return known_job;
end
$$;

-- Keeps events that have not come in before, each for the partner beside it, and has them looked at, as well as those that
-- have and still wait: their job may have been given up. One call is one statement: when it is answered, they are there with
-- their jobs. Answers how many were new, and whether there are jobs to hand over.
create or replace function receive_pos_events(
  of_provider text, partner_ids uuid[], accounts text[], event_ids text[], changes jsonb, caused_by text,
  out added integer, out staged boolean
) language plpgsql
as $$
declare
  box uuid;
  known_job bigint;
  added_here integer;
  turn_at timestamptz;
begin
  added := 0;
  staged := false;
  for box in select distinct partner_id from unnest(partner_ids) as partner_id order by partner_id loop
    known_job := lock_pos_mailbox(box);
    insert into pos_events (partner_id, provider, account, event_id, change, request_id)
    select box, of_provider, told.account, told.event_id, changes -> (told.n - 1)::integer, caused_by
    from unnest(partner_ids, accounts, event_ids) with ordinality as told (partner_id, account, event_id, n)
    where told.partner_id = box
    order by told.n
    on conflict (partner_id, provider, event_id) do nothing;
    get diagnostics added_here = row_count;
    added := added + added_here;
    if added_here > 0 or exists (
      select from pos_events known
      where known.partner_id = box and known.provider = of_provider and known.status = 'QUEUED' and known.event_id = any (event_ids)
    ) then
      -- while the first of them is given time, the others wait behind it
      select next_try_at into turn_at from pos_events where partner_id = box and status = 'QUEUED' order by id limit 1;
      staged := ring_pos_mailbox(box, known_job, greatest(turn_at, now()), caused_by) or staged;
    end if;
  end loop;
end
$$;

-- Has jobs look into up to `most` mailboxes where an event has had its turn for a minute and no job is left that would look,
-- since the last one was given up. Answers how many they were.
create or replace function ring_forgotten_mailboxes(most integer) returns integer
language plpgsql
as $$
declare
  box uuid;
  rung integer := 0;
begin
  for box in
    with recursive turns as (
      (
        select partner_id, next_try_at from pos_events where status = 'QUEUED' order by partner_id, id limit 1
      )
      union all
      -- one step into the index for each partner, however many events wait
      select following.partner_id, following.next_try_at
      from turns
      cross join lateral (
        select e.partner_id, e.next_try_at from pos_events e
        where e.status = 'QUEUED' and e.partner_id > turns.partner_id
        order by e.partner_id, e.id
        limit 1
      ) as following
    )
    select partner_id from turns
    where next_try_at < now() - interval '1 minute'
      and not exists (
        select from staged_jobs j
        where j.queue = 'pos-events' and j.payload ->> 'partnerId' = turns.partner_id::text and j.payload ->> 'eventId' is null
          and j.done_at is null and j.dead_at is null
      )
    order by partner_id
    limit most
  loop
    perform ring_pos_mailbox(box, lock_pos_mailbox(box), now(), null);
    rung := rung + 1;
  end loop;
  return rung;
end
$$;
