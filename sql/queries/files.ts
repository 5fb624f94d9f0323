import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";
import { firstRow, hasRows, onlyRow, onlyValue } from "../rows.js";

export interface FileRow {
  id: string;
  name: string;
  status: Enum<"fileStatus">;
  contentType: string;
  /** In bytes. During an upload: the declared maximum of one in parts, else null. */
  size: number | null;
  width: number | null;
  height: number | null;
  uploadId: string | null;
  /** Of an upload in parts: the declared minimum, in bytes. */
  leastSize: number | null;
  /** When an unfinished upload expires. */
  expiresAt: Date | null;
  expired: boolean;
}

/** A file whose upload begins. */
export interface NewFile {
  name: string;
  contentType: string;
  /** For an upload in parts: the storage's id of the upload, and the maximum and minimum size in bytes. */
  inParts: { uploadId: string; size: number; leastSize: number } | null;
  expiresAt: Date;
}

/** Locks a user's uploads until the transaction `tx` ends: no other one begins or becomes a document. */
export const lockUploads = (tx: Db, userId: string) =>
  tx`select from pg_advisory_xact_lock(hashtextextended('uploads ' || ${userId}::text, 0))`;

export interface Uploads {
  /** Uploads that have begun and have not expired, and images that wait for their conversion. */
  open: number;
  /** Their sizes, as far as they are known. */
  openBytes: number;
  /** The declared maximum sizes of the documents among them. */
  announcedBytes: number;
  /** The size of all stored documents. */
  documentBytes: number;
}

/** Finds the totals of a user's uploads and documents. */
export const findUploads = (db: Db, userId: string) =>
  onlyRow(db<Uploads[]>`
    select
      count(*)::integer as open,
      coalesce(sum(size), 0)::bigint as open_bytes,
      coalesce(sum(size) filter (where content_type = 'application/pdf'), 0)::bigint as announced_bytes,
      coalesce((
        select coalesce(sum(size), 0)::bigint from files
        where user_id = ${userId}::uuid and content_type = 'application/pdf' and status = 'READY'
      ), 0) as document_bytes
    from files
    where user_id = ${userId}::uuid and status in ('UPLOADING', 'STORED') and (expires_at is null or expires_at > now())`);

/** Counts the uploads of menus by a partner's owner and staff that have begun and have not expired. */
export const countMenuUploads = (db: Db, partnerId: string) =>
  onlyValue(db<{ uploads: number }[]>`
    select count(*)::integer as uploads
    from files
    where user_id in (select partner_members(${partnerId}::uuid)) and status = 'UPLOADING' and expires_at > now() and content_type = 'text/csv'`);

/** Inserts a file before its upload, so that the bytes of an upload that never finishes can be found; returns its id. */
export const insertFile = (db: Db, userId: string, file: NewFile) =>
  onlyValue(db<{ id: string }[]>`
    insert into files (user_id, name, content_type, upload_id, size, least_size, expires_at)
    values (
      ${userId}::uuid, ${file.name}, ${file.contentType}, ${file.inParts?.uploadId ?? null},
      ${file.inParts?.size ?? null}::bigint, ${file.inParts?.leastSize ?? null}::bigint, ${file.expiresAt}::timestamptz
    )
    returning id`);

/** Finds a file. */
export const findFile = (db: Db, id: string) =>
  firstRow(db<FileRow[]>`
    select id, name, status, content_type, size, width, height, upload_id, least_size,
           expires_at, coalesce(expires_at <= now(), false) as expired
    from files
    where id = ${id}::uuid`);

/** Whether a file exists; waits for a concurrent delete of it to finish. */
export const fileStillExists = (db: Db, id: string) =>
  hasRows(db`select from files where id = ${id}::uuid for key share`);

/** Finds a file of a user. */
export const findOwnFile = (db: Db, id: string, userId: string) =>
  firstRow(db<FileRow[]>`
    select id, name, status, content_type, size, width, height, upload_id, least_size,
           expires_at, coalesce(expires_at <= now(), false) as expired
    from files
    where id = ${id}::uuid and user_id = ${userId}::uuid`);

export interface ListedFile extends FileRow {
  createdAt: Date;
}

/** Lists a user's files, newest first, after the one with id `after`, without expired uploads. */
export const listOwnFiles = (db: Db, userId: string, after: string | null, limit: number) =>
  db<ListedFile[]>`
    select id, name, status, content_type, size, width, height, upload_id, least_size,
           expires_at, coalesce(expires_at <= now(), false) as expired, created_at
    from files
    where user_id = ${userId}::uuid
      and (${after}::uuid is null or id < ${after}::uuid)
      and (expires_at is null or expires_at > now())
    order by id desc
    limit ${limit}`;

/**
 * Marks an uploaded image STORED: it waits for its conversion. Returns how many other images of its user wait; undefined when
 * it is not UPLOADING.
 */
export const updateFileStored = (db: Db, id: string, size: number) =>
  firstRow(db<{ ahead: number }[]>`
    with stored as (
      update files set status = 'STORED', size = ${size}::bigint, expires_at = null, upload_id = null, least_size = null
      where id = ${id}::uuid and status = 'UPLOADING'
      returning user_id
    )
    select coalesce((
      select count(*) from files f where f.user_id = stored.user_id and f.status = 'STORED'
    ), 0)::integer as ahead
    from stored`);

/** Settles an uploaded document as READY; false when it is not UPLOADING. */
export const updateDocumentReady = (db: Db, id: string, size: number) =>
  hasRows(db`
    update files set status = 'READY', size = ${size}::bigint, expires_at = null, upload_id = null, least_size = null, settled_at = now()
    where id = ${id}::uuid and status = 'UPLOADING'`);

/** Settles a converted image as READY, with its new size; false when it is not STORED. */
export const updateImageReady = (
  db: Db,
  id: string,
  { size, width, height }: { size: number; width: number; height: number },
) =>
  hasRows(db`
    update files
    set status = 'READY', content_type = 'image/webp', size = ${size}::bigint, width = ${width}::integer,
        height = ${height}::integer, settled_at = now(), unused_since = now()
    where id = ${id}::uuid and status = 'STORED'`);

/** Settles an image that cannot be converted as REFUSED; false when it is not STORED. */
export const updateFileRefused = (db: Db, id: string) =>
  hasRows(db`
    update files set status = 'REFUSED', settled_at = now() where id = ${id}::uuid and status = 'STORED'`);

/** Deletes the row of an upload that failed, or whose file has another row now; false when it is not UPLOADING. */
export const deleteUnfinishedFile = (db: Db, id: string) =>
  hasRows(db`delete from files where id = ${id}::uuid and status = 'UPLOADING'`);

type DeletedFile = Pick<FileRow, "name" | "uploadId">;

/** Deletes the row of a user's file, unless its conversion is pending. The caller deletes its bytes in the same transaction. */
export const deleteOwnFile = (db: Db, id: string, userId: string) =>
  firstRow(db<DeletedFile[]>`
    delete from files
    where id = ${id}::uuid and user_id = ${userId}::uuid and status <> 'STORED'
    returning name, upload_id`);

/** Claims a user's image to show it somewhere, so that it is not deleted as unused; returns its name. */
export async function claimImage(db: Db, id: string, userId: string): Promise<string | undefined> {
  const [row] = await db<{ name: string }[]>`
    update files set unused_since = null
    where id = ${id}::uuid and user_id = ${userId}::uuid and status = 'READY' and content_type = 'image/webp'
    returning name`;
  return row?.name;
}

/** Releases an image that one place no longer shows: it is deleted later unless another place shows it. */
export async function releaseImage(db: Db, name: string | null): Promise<void> {
  if (name !== null) await db`update files set unused_since = now() where name = ${name} and unused_since is null`;
}

/**
 * Deletes the rows of unused files: expired uploads, refused images after a day, images that nothing has shown for a day, and
 * images that were not converted within a week. The caller deletes their bytes in the same transaction.
 */
export const deleteUnusedFiles = (db: Db, limit: number) =>
  db<DeletedFile[]>`
    with unused as (
      (select id from files where status = 'UPLOADING' and expires_at < now() limit ${limit})
      union all
      (select id from files where status = 'REFUSED' and settled_at < now() - interval '1 day' limit ${limit})
      union all
      (select id from files where status = 'STORED' and created_at < now() - interval '7 days' limit ${limit})
      union all
      (
        select f.id
        from files f
        where f.unused_since < now() - interval '1 day'
          and not exists (select from users where avatar = f.name)
          and not exists (select from boxes where image = f.name)
          and not exists (select from ad_banners where image = f.name)
        limit ${limit}
      )
    ), locked as (
      select f.id
      from files f
      where f.id in (select id from unused)
      order by f.id
      limit ${limit}
      for update skip locked
    )
    delete from files f
    using locked
    where f.id = locked.id
      and (
        f.unused_since < now() - interval '1 day' or f.status in ('REFUSED', 'STORED')
        or (f.status = 'UPLOADING' and f.expires_at < now())
      )
    returning f.name, f.upload_id`;

/** Clears the mark of images that were released but are shown somewhere. */
export const retainShownImages = (db: Db) =>
  db`
    update files f
    set unused_since = null
    where f.unused_since < now() - interval '1 day'
      and (
        exists (select from users where avatar = f.name)
        or exists (select from boxes where image = f.name)
        or exists (select from ad_banners where image = f.name)
      )`;
