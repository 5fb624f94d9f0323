import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "@jest/globals";
import { files, keysOf, newFileName } from "../../lib/storage/file-store.js";
import { newServiceId } from "../../lib/domain/service-id.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { findFile, insertFile, updateFileStored } from "../../sql/queries/files.js";
import { convertUpload } from "../../workers/images.js";
import { newPhone } from "../support/cast.js";
import { pictureBytes } from "../support/pictures.js";
import { task } from "../support/task.js";

afterAll(closeDatabase);

const settle = (fileId: string) => convertUpload(task({ fileId }));

async function stored(bytes: Uint8Array | null): Promise<{ id: string; keys: ReturnType<typeof keysOf> }> {
  const [user] = await sql<{ id: string }[]>`
    insert into users (service_id, phone) values (${newServiceId()}, ${newPhone()}) returning id`;
  const name = newFileName();
  if (bytes) await files.put(keysOf(name).original, Readable.from([bytes]), "image/jpeg");
  const expiresAt = new Date(Date.now() + 60_000);
  const id = await insertFile(sql, user?.id ?? "", { name, contentType: "image/jpeg", inParts: null, expiresAt });
  await updateFileStored(sql, id, bytes?.length ?? 0);
  return { id, keys: keysOf(name) };
}

const sizes = ({ original, image, thumbnail }: ReturnType<typeof keysOf>) =>
  Promise.all([original, image, thumbnail].map(async (key) => (await files.size(key)) !== null));

test("an image that is converted twice, even at once, is the same, and its original is gone", async () => {
  const { id, keys } = await stored(await pictureBytes());
  await Promise.all([settle(id), settle(id).catch(() => undefined)]);
  await settle(id);
  expect(await sizes(keys)).toEqual([false, true, true]);
  const file = await findFile(sql, id);
  expect(file).toMatchObject({ status: "READY", contentType: "image/webp", size: await files.size(keys.image) });
});

test("an original that was left behind by a worker that was killed goes at the next run", async () => {
  const { id, keys } = await stored(await pictureBytes());
  await settle(id);
  await files.put(keys.original, Readable.from([await pictureBytes()]), "image/jpeg");
  await settle(id);
  expect(await sizes(keys)).toEqual([false, true, true]);
});

test("an image that cannot be decoded is refused; one that storage does not give is tried again", async () => {
  const broken = await stored((await pictureBytes("jpeg", 500, 500)).subarray(0, 900));
  await settle(broken.id);
  expect([(await findFile(sql, broken.id))?.status, await sizes(broken.keys)]).toEqual([
    "REFUSED",
    [false, false, false],
  ]);
  const lost = await stored(null);
  await expect(settle(lost.id)).rejects.toThrow("no longer in storage");
  expect((await findFile(sql, lost.id))?.status).toBe("STORED");
});

test("a file that is gone by then is no failure", async () => {
  await settle(randomUUID());
});
