-- Returns the users who own or work for a partner.
create or replace function partner_members(of_partner uuid) returns setof uuid
language sql stable
as $$
  select owner_id from partners where id = of_partner and owner_id is not null
  union
  select user_id from partner_staff where partner_id = of_partner
$$;
