-- Has a job look into a partner's mailbox, at `due_at` or before, unless one is on its way that has not begun; answers whether
-- it staged one. `known_job` is that of the mailbox, whose row the caller has locked.
create or replace function ring_pos_mailbox(of_partner uuid, known_job bigint, due_at timestamptz, caused_by text) returns boolean
language plpgsql
as $$
declare
  new_job bigint;
begin
  if known_job is not null then
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

-- Keeps events that have not come in before, each for the partner beside it, and has them looked at. One call is one
-- statement: when it is answered, they are there with their jobs. Answers how many were new, and whether jobs were staged.
create or replace function receive_pos_events(
  of_provider text, partner_ids uuid[], accounts text[], event_ids text[], changes jsonb, caused_by text,
  out added integer, out staged boolean
) language plpgsql
as $$
declare
  box uuid;
  known_job bigint;
  added_here integer;
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
    if added_here > 0 then
      added := added + added_here;
      staged := ring_pos_mailbox(box, known_job, now(), caused_by) or staged;
    end if;
  end loop;
end
$$;
