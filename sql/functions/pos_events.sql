-- Has a job look into a partner's mailbox, at `due_at` or before: the one that is open and has not begun, which is brought
-- forward when it would come later, else a new one. `known_job` is that of the mailbox, whose row the caller has locked.
create or replace function schedule_inbox_run(of_partner uuid, known_job bigint, due_at timestamptz, caused_by text) returns void
language plpgsql
as $$
begin
  if bring_job_forward(known_job, due_at) then
    return;
  end if;
  -- one that was handed over begins by itself, and sees what is there by then
  perform from open_jobs where id = known_job;
  if not found then
    update pos_mailboxes
    set job_id = stage_job(
      'pos-events', jsonb_build_object('partnerId', of_partner), caused_by, due_at, open_key => of_partner::text
    )
    where partner_id = of_partner;
  end if;
end
$$;

-- Locks a partner's mailbox, which it makes at the first event, and answers the job that is on its way to it.
create or replace function lock_pos_inbox(of_partner uuid) returns bigint
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
-- their jobs. Answers how many were new.
create or replace function receive_pos_events(
  of_provider text, partner_ids uuid[], accounts text[], event_ids text[], changes jsonb, caused_by text
) returns integer
language plpgsql
as $$
declare
  box uuid;
  known_job bigint;
  added integer := 0;
  added_here integer;
  turn_at timestamptz;
begin
  for box in select distinct partner_id from unnest(partner_ids) as partner_id order by partner_id loop
    known_job := lock_pos_inbox(box);
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
      perform schedule_inbox_run(box, known_job, greatest(turn_at, now()), caused_by);
    end if;
  end loop;
  return added;
end
$$;

-- Has jobs look into up to `most` mailboxes where an event has had its turn for a minute and no job is left that would look,
-- since the last one was given up. Answers how many they were.
create or replace function reschedule_stalled_inboxes(most integer) returns integer
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
      and not exists (select from open_jobs j where j.queue = 'pos-events' and j.key = turns.partner_id::text)
    order by partner_id
    limit most
  loop
    perform schedule_inbox_run(box, lock_pos_inbox(box), now(), null);
    rung := rung + 1;
  end loop;
  return rung;
end
$$;
