import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "@jest/globals";
import { files, keysOf, newFileName } from "../../lib/storage/file-store.js";
import { newServiceId } from "../../lib/domain/service-id.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { findFile, insertFile, updateFileStored } from "../../sql/queries/files.js";
import { convertUpload } from "../../workers/images.js";
import { newPhone } from "../support/cast.js";
import { blankPng, pictureBytes } from "../support/pictures.js";
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

test("an image converted twice, also concurrently, has the same result, and its original is deleted", async () => {
  const { id, keys } = await stored(await pictureBytes());
  await Promise.all([settle(id), settle(id).catch(() => undefined)]);
  await settle(id);
  expect(await sizes(keys)).toEqual([false, true, true]);
  const file = await findFile(sql, id);
  expect(file).toMatchObject({ status: "READY", contentType: "image/webp", size: await files.size(keys.image) });
});

test("an original left behind by a killed worker is deleted by the next run", async () => {
  const { id, keys } = await stored(await pictureBytes());
  await settle(id);
  await files.put(keys.original, Readable.from([await pictureBytes()]), "image/jpeg");
  await settle(id);
  expect(await sizes(keys)).toEqual([false, true, true]);
});

test("an image that cannot be decoded is refused; one that storage does not return is retried", async () => {
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

test("an image that takes too much is refused and the reason logged, while another is converted", async () => {
  const bomb = await stored(await blankPng(1_000_000, 49));
  const other = await stored(await pictureBytes());
  const refusal = task({ fileId: bomb.id });
  await Promise.all([convertUpload(refusal), settle(other.id)]);
  expect((await findFile(sql, bomb.id))?.status).toBe("REFUSED");
  expect((await findFile(sql, other.id))?.status).toBe("READY");
  expect(refusal.lines).toMatchObject([{ reason: "Error: a side is longer than 16383 pixels" }]);
});

test("a file that no longer exists is not a failure", async () => {
  await settle(randomUUID());
});
