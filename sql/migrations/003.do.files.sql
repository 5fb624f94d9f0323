create type file_status as enum ('UPLOADING', 'STORED', 'READY', 'REFUSED');

-- Uploaded files. Each belongs to a user; users, boxes and banners show images.
create table files (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  -- its name in storage and in its address; cannot be guessed
  name text not null unique,
  status file_status not null default 'UPLOADING',
  -- of the upload, or of the converted image once it is READY
  content_type text not null,
  size bigint check (size >= 0),
  width integer check (width > 0),
  height integer check (height > 0),
  -- storage's name for an upload in parts
  upload_id text,
  -- of an upload in parts: it has at least so many bytes, and at most `size`
  least_size bigint check (least_size >= 0),
  -- when an unfinished upload may be deleted
  expires_at timestamptz,
  -- since when nothing shows this image; null while something does, and always for documents
  unused_since timestamptz,
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
create index files_unused on files (unused_since) where unused_since is not null;
-- for the limits on what a user uploads at a time, and keeps
create index files_open_of_user on files (user_id) where status in ('UPLOADING', 'STORED');
create index files_documents_of_user on files (user_id) include (size)
  where content_type = 'application/pdf' and status = 'READY';

-- not in users, because each of the two tables references the other
alter table users add foreign key (avatar) references files (name);

create type export_status as enum ('QUEUED', 'READY', 'FAILED');

-- Users' own data as files, which workers make. Upkeep deletes the row and its file together.
create table data_exports (
  id uuid primary key default new_id(),
  user_id uuid not null references users (id),
  -- the file's name in storage and in its address; cannot be guessed
  name text not null unique,
  status export_status not null default 'QUEUED',
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  -- a day after the request; for a file that is ready, three days after it was made; the deletion of the account brings it forward
  expires_at timestamptz not null,
  check ((status = 'QUEUED') = (settled_at is null))
);

create index data_exports_by_user on data_exports (user_id, id);
create index data_exports_by_expiry on data_exports (expires_at);
