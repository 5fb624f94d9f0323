-- When a part of the service was last seen alive, such as the canary job that goes through broker and worker.
create table heartbeats (
  name text primary key,
  beat_at timestamptz not null
);
