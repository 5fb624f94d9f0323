-- A session of the dashboard is good for nothing else, and no other session opens the dashboard.
alter table sessions add column for_dashboard boolean not null default false;
drop function if exists log_in(uuid, text[], bytea);

-- Moderators decide on what they have read: it changes with every edit.
alter table reviews add column revision integer not null default 1;
drop function if exists change_review(uuid, uuid, review_status[], review_status, integer, text);
drop function if exists add_staff(uuid, uuid, text, integer);
