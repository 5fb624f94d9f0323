-- What names an account at a partner is found by its phone, when it is deleted and when it is erased.
create index partners_by_phone on partners (phone) where phone is not null;
create index partners_by_any_owner_phone on partners (owner_phone) where owner_phone is not null;

comment on column boxes.lowest_price_minor is
  'What it cost when it was listed, or the lowest price since that those who like it were told of; null before its first change.';
