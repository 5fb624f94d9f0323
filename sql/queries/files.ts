import type { Enum } from "../../lib/domain/enums.js";
import type { Db } from "../db.js";

export type FileStatus = Enum<"fileStatus">;

export interface FileRow {
  id: string;
  name: string;
  status: FileStatus;
  contentType: string;
  /** In bytes. During an upload: the declared maximum of one in parts, else null. */
  size: number | null;
  width: number | null;
  height: number | null;
  uploadId: string | null;
  /** When an unfinished upload expires. */
  expiresAt: Date | null;
  expired: boolean;
}

/** A file whose upload begins. */
export interface NewFile {
  name: string;
  contentType: string;
  /** For an upload in parts: the storage's id of the upload, and the maximum size in bytes. */
  inParts: { uploadId: string; size: number } | null;
  expiresAt: Date;
}

/** Locks a user's uploads until the transaction `tx` ends: no other one begins or becomes a document. */
export const lockUploads = (tx: Db, userId: string) =>
  tx`select from pg_advisory_xact_lock(hashtextextended('uploads ' || ${userId}::text, 0))`;

export interface Uploads {
  /** Uploads that have begun and have not expired. */
  unfinished: number;
  /** The declared maximum sizes of the documents among them. */
  announcedBytes: number;
  /** The size of all stored documents. */
  documentBytes: number;
}

/** Finds the totals of a user's uploads and documents. */
export async function findUploads(db: Db, userId: string): Promise<Uploads> {
  const [row] = await db<{ unfinished: number; announcedBytes: number; documentBytes: number | null }[]>`
    select
      count(*)::integer as unfinished,
      coalesce(sum(size) filter (where content_type = 'application/pdf'), 0)::bigint as "announcedBytes",
      (
        select coalesce(sum(size), 0)::bigint from files
        where user_id = ${userId}::uuid and content_type = 'application/pdf' and status = 'READY'
      ) as "documentBytes"
    from files
    where user_id = ${userId}::uuid and status = 'UPLOADING' and expires_at > now()`;
  return {
    unfinished: row?.unfinished ?? 0,
    announcedBytes: row?.announcedBytes ?? 0,
    documentBytes: row?.documentBytes ?? 0,
  };
}

/** Inserts a file before its upload, so that the bytes of an upload that never finishes can be found; returns its id. */
export async function insertFile(db: Db, userId: string, file: NewFile): Promise<string> {
  const [row] = await db<{ id: string }[]>`
    insert into files (user_id, name, content_type, upload_id, size, expires_at)
    values (
      ${userId}::uuid, ${file.name}, ${file.contentType}, ${file.inParts?.uploadId ?? null},
      ${file.inParts?.size ?? null}::bigint, ${file.expiresAt}::timestamptz
    )
    returning id`;
  if (!row) throw new Error("no file was inserted");
  return row.id;
}

/** Finds a file. */
export const findFile = async (db: Db, id: string) =>
  (
    await db<FileRow[]>`
      select id, name, status, content_type as "contentType", size, width, height, upload_id as "uploadId",
             expires_at as "expiresAt", coalesce(expires_at <= now(), false) as expired
      from files
      where id = ${id}::uuid`
  )[0];

/** Whether a file exists; waits for a concurrent delete of it to finish. */
export const fileStillExists = async (db: Db, id: string): Promise<boolean> =>
  (await db`select from files where id = ${id}::uuid for key share`).count > 0;

/** Finds a file of a user. */
export const findOwnFile = async (db: Db, id: string, userId: string) =>
  (
    await db<FileRow[]>`
      select id, name, status, content_type as "contentType", size, width, height, upload_id as "uploadId",
             expires_at as "expiresAt", coalesce(expires_at <= now(), false) as expired
      from files
      where id = ${id}::uuid and user_id = ${userId}::uuid`
  )[0];

export interface ListedFile extends FileRow {
  createdAt: Date;
}

/** Lists a user's files, newest first, after the one with id `after`, without expired uploads. */
export const listOwnFiles = (db: Db, userId: string, after: string | null, limit: number) =>
  db<ListedFile[]>`
    select id, name, status, content_type as "contentType", size, width, height, upload_id as "uploadId",
           expires_at as "expiresAt", coalesce(expires_at <= now(), false) as expired, created_at as "createdAt"
    from files
    where user_id = ${userId}::uuid
      and (${after}::uuid is null or id < ${after}::uuid)
      and (expires_at is null or expires_at > now())
    order by id desc
    limit ${limit}`;

/** Marks an uploaded image STORED: it waits for its conversion; false when it is not UPLOADING. */
export async function updateFileStored(db: Db, id: string, size: number): Promise<boolean> {
  const { count } = await db`
    update files set status = 'STORED', size = ${size}::bigint, expires_at = null, upload_id = null
    where id = ${id}::uuid and status = 'UPLOADING'`;
  return count === 1;
}

/** Settles an uploaded document as READY; false when it is not UPLOADING. */
export async function updateDocumentReady(db: Db, id: string, size: number): Promise<boolean> {
  const { count } = await db`
    update files set status = 'READY', size = ${size}::bigint, expires_at = null, upload_id = null, settled_at = now()
    where id = ${id}::uuid and status = 'UPLOADING'`;
  return count === 1;
}

/** Settles a converted image as READY, with its new size; false when it is not STORED. */
export async function updateImageReady(
  db: Db,
  id: string,
  { size, width, height }: { size: number; width: number; height: number },
): Promise<boolean> {
  const { count } = await db`
    update files
    set status = 'READY', content_type = 'image/webp', size = ${size}::bigint, width = ${width}::integer,
        height = ${height}::integer, settled_at = now(), loose_since = now()
    where id = ${id}::uuid and status = 'STORED'`;
  return count === 1;
}

/** Settles an image that cannot be converted as REFUSED; false when it is not STORED. */
export async function updateFileRefused(db: Db, id: string): Promise<boolean> {
  const { count } = await db`
    update files set status = 'REFUSED', settled_at = now() where id = ${id}::uuid and status = 'STORED'`;
  return count === 1;
}

/** Deletes the row of an upload that failed, or whose file has another row now; false when it is not UPLOADING. */
export async function deleteUnfinishedFile(db: Db, id: string): Promise<boolean> {
  const { count } = await db`delete from files where id = ${id}::uuid and status = 'UPLOADING'`;
  return count === 1;
}

export interface DeletedFile {
  name: string;
  uploadId: string | null;
}

/** Deletes the row of a user's file, unless its conversion is pending. The caller deletes its bytes in the same transaction. */
export async function deleteOwnFile(db: Db, id: string, userId: string): Promise<DeletedFile | undefined> {
  const [row] = await db<DeletedFile[]>`
    delete from files
    where id = ${id}::uuid and user_id = ${userId}::uuid and status <> 'STORED'
    returning name, upload_id as "uploadId"`;
  return row;
}

/** Claims a user's image to show it somewhere, so that it is not deleted as unused; returns its name. */
export async function claimImage(db: Db, id: string, userId: string): Promise<string | undefined> {
  const [row] = await db<{ name: string }[]>`
    update files set loose_since = null
    where id = ${id}::uuid and user_id = ${userId}::uuid and status = 'READY' and content_type = 'image/webp'
    returning name`;
  return row?.name;
}

/** Releases an image that one place no longer shows: it is deleted later unless another place shows it. */
export async function releaseImage(db: Db, name: string | null): Promise<void> {
  if (name !== null) await db`update files set loose_since = now() where name = ${name} and loose_since is null`;
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
        where f.loose_since < now() - interval '1 day'
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
        f.loose_since < now() - interval '1 day' or f.status in ('REFUSED', 'STORED')
        or (f.status = 'UPLOADING' and f.expires_at < now())
      )
    returning f.name, f.upload_id as "uploadId"`;

/** Clears the mark of images that were released but are shown somewhere. */
export async function retainShownImages(db: Db): Promise<void> {
  await db`
    update files f
    set loose_since = null
    where f.loose_since < now() - interval '1 day'
      and (
        exists (select from users where avatar = f.name)
        or exists (select from boxes where image = f.name)
        or exists (select from ad_banners where image = f.name)
      )`;
}
