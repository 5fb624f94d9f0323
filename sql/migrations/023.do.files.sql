create type file_status as enum ('UPLOADING', 'STORED', 'READY', 'REFUSED');

create table files (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  -- what it is called in storage and in its address: nobody can guess it
  name text not null unique,
  status file_status not null default 'UPLOADING',
  -- of what was uploaded; of what it was converted to, for images that are READY
  content_type text not null,
  size bigint check (size >= 0),
  width integer check (width > 0),
  height integer check (height > 0),
  -- storage's name for an upload in parts
  upload_id text,
  -- when an upload that is not finished may be cleared away
  expires_at timestamptz,
  -- since when nothing shows this image; null while something does, and for what is kept without
  loose_since timestamptz,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  check ((status = 'UPLOADING') = (expires_at is not null)),
  check ((status in ('READY', 'REFUSED')) = (settled_at is not null)),
  check (status = 'UPLOADING' or size is not null)
);

create index files_by_user on files (user_id, id);
create index files_unfinished on files (expires_at) where status = 'UPLOADING';
create index files_unsettled on files (created_at) where status = 'STORED';
create index files_refused on files (settled_at) where status = 'REFUSED';
create index files_loose on files (loose_since) where loose_since is not null;

alter table users add column avatar text references files (name);
create index users_by_avatar on users (avatar) where avatar is not null;

alter table boxes add column image text references files (name);
create index boxes_by_image on boxes (image) where image is not null;

alter table ad_banners add column image text references files (name);
alter table ad_banners alter column image_url drop not null;
alter table ad_banners add check ((image is null) <> (image_url is null));
create index ad_banners_by_image on ad_banners (image) where image is not null;
