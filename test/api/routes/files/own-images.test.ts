import { randomUUID } from "node:crypto";
import { access, mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { files, keysOf } from "../../../../lib/storage/file-store.js";
import { closeBroker } from "../../../../queues/broker.js";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { closeSignals } from "../../../../sql/signals.js";
import { convertUpload } from "../../../../workers/images.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { type Client, outcome, startApi } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { fileForm, pdf, pictureBytes } from "../../../support/pictures.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";

let api: Awaited<ReturnType<typeof startApi>>;
let anna: cast.Character;

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
});

afterAll(async () => {
  await api.stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

/** Uploads a picture, which is converted at once. */
async function image(as: Client): Promise<{ id: string; url: string; name: string }> {
  const uploading = as.post("/api/v1/files/upload", fileForm(await pictureBytes(), "image/jpeg"));
  const fileId = await until(async () => {
    const [job] = await sql<{ fileId: string }[]>`
      update staged_jobs set done_at = now() where queue = 'images' and done_at is null returning payload->>'fileId' as "fileId"`;
    return job?.fileId;
  });
  await convertUpload(task({ fileId }));
  const reply = await uploading;
  expect(outcome(reply)).toBe("201");
  const url = reply.string("url");
  return { id: fileId, url, name: url.replace(/^.*\/(\w+)\.webp$/, "$1") };
}

const refused = (path: string, code = "VALIDATION_ERROR") =>
  expect.objectContaining({ code, errors: [{ path, message: "is not an image that you uploaded" }] });

const whatIsNone = async (): Promise<[string, string][]> => {
  const foreign = await image((await cast.user(api.client)).client);
  const document = await anna.client.post("/api/v1/files/upload", fileForm(pdf, "application/pdf"));
  return [
    ["unknown", randomUUID()],
    ["someone else's", foreign.id],
    ["a document", document.string("fileId")],
  ];
};

describe("an uploaded image", () => {
  test("can be the avatar, and replace a URL or be replaced by one", async () => {
    const path = "/api/v1/users/me/avatar";
    const { id, url } = await image(anna.client);
    const elsewhere = "https://cdn.example.com/anna.webp";
    const set = async (body: object) => (await anna.client.post(path, body)).body;
    expect(await set({ avatarUrl: elsewhere })).toEqual({ id: anna.id, avatarUrl: elsewhere });
    expect(await set({ fileId: id })).toEqual({ id: anna.id, avatarUrl: url });
    expect((await anna.client.get("/api/v1/users/me")).body["avatarUrl"]).toBe(url);
    expect(await set({ avatarUrl: elsewhere })).toEqual({ id: anna.id, avatarUrl: elsewhere });
    expect((await anna.client.get("/api/v1/users/me")).body["avatarUrl"]).toBe(elsewhere);
    for (const [, fileId] of await whatIsNone()) expect(await set({ fileId })).toEqual(refused("fileId"));
    for (const body of [{}, { avatarUrl: elsewhere, fileId: id }]) {
      expect(outcome(await anna.client.post(path, body))).toBe("400 VALIDATION_ERROR");
    }
  });

  test("can be a box's image until it is replaced, and is kept by a repeated box", async () => {
    const bakery = await cast.bakery(api.client);
    const [first, second] = [await image(bakery.owner.client), await image(bakery.owner.client)];
    const boxId = await cast.listBox(bakery, { imageFileId: first.id });
    const path = `/api/v1/boxes/${boxId}`;
    const shown = async (of = path) => (await api.client.get(of)).body["imageUrl"];
    const change = (imageFileId: string | null) => bakery.owner.client.put(path, { imageFileId });
    expect(await shown()).toBe(first.url);
    const listed = await api.client.get(`/api/v1/boxes/by-partner/${bakery.id}`);
    expect(listed.list[0]).toMatchObject({
      imageUrl: first.url,
      thumbnailUrl: first.url.replace(".webp", "-thumbnail.webp"),
    });
    const repeated = await bakery.owner.client.post(`${path}/repeat`);
    expect(repeated.body["imageUrl"]).toBe(first.url);
    expect(outcome(await bakery.owner.client.put(path, { title: "Другая" }))).toBe("200");
    expect(await shown()).toBe(first.url);
    expect(outcome(await change(second.id))).toBe("200");
    expect(await shown()).toBe(second.url);
    for (const [, id] of await whatIsNone()) expect((await change(id)).body).toEqual(refused("imageFileId"));
    expect(await shown()).toBe(second.url);
    expect(outcome(await change(null))).toBe("200");
    expect(await shown()).toBeNull();
    const foreign = await image(anna.client);
    const listing = cast.newBox({ imageFileId: foreign.id });
    expect((await bakery.owner.client.post("/api/v1/boxes", listing)).body).toEqual(refused("imageFileId"));
  });

  test("can be a banner's image", async () => {
    const admin = await cast.admin(api.client);
    const campaignId = await cast.campaign(admin.client);
    const path = `/api/v1/admin/ads/campaigns/${campaignId}/banners`;
    const { id, url } = await image(admin.client);
    const elsewhere = "https://cdn.example.com/b.webp";
    const add = (fields: Record<string, unknown>) => admin.client.post(path, cast.newBanner(fields));
    const added = await add({ imageUrl: undefined, imageFileId: id });
    expect(added.body["imageUrl"]).toBe(url);
    const own = `${path}/${added.string("id")}`;
    expect((await admin.client.put(own, { weight: 2 })).body["imageUrl"]).toBe(url);
    await admin.client.post(`/api/v1/admin/ads/campaigns/${campaignId}/activate`);
    const placement = String(added.body["placement"]);
    expect((await api.client.get(`/api/v1/ads/banners?placement=${placement}`)).list).toMatchObject([
      { imageUrl: url },
    ]);
    expect((await admin.client.put(own, { imageUrl: elsewhere })).body["imageUrl"]).toBe(elsewhere);
    expect((await admin.client.put(own, { imageFileId: id })).body["imageUrl"]).toBe(url);
    expect((await add({ imageUrl: undefined, imageFileId: randomUUID() })).body).toEqual(
      refused("imageFileId", "BAD_REQUEST"),
    );
    expect(outcome(await add({ imageUrl: elsewhere, imageFileId: id }))).toBe("400 BAD_REQUEST");
    expect(outcome(await admin.client.put(own, { imageUrl: elsewhere, imageFileId: id }))).toBe("400 BAD_REQUEST");
  });

  test("cannot be deleted while it is shown", async () => {
    const { id } = await image(anna.client);
    await anna.client.post("/api/v1/users/me/avatar", { fileId: id });
    const refused = await anna.client.delete(`/api/v1/files/${id}`);
    expect([outcome(refused), refused.body["detail"]]).toEqual([
      "409 CONFLICT",
      "This image is shown as your avatar: remove it there first.",
    ]);
    for (let times = 0; times < 2; times += 1)
      expect(outcome(await anna.client.delete("/api/v1/users/me/avatar"))).toBe("204");
    expect((await anna.client.get("/api/v1/users/me")).body["avatarUrl"]).toBeNull();
    expect(outcome(await anna.client.delete(`/api/v1/files/${id}`))).toBe("204");
    expect(outcome(await anna.client.delete(`/api/v1/files/${id}`))).toBe("404 NOT_FOUND");
  });
});

test("the refusal to delete an image says whether a box or a banner shows it", async () => {
  const bakery = await cast.bakery(api.client);
  const boxed = await image(bakery.owner.client);
  await cast.listBox(bakery, { imageFileId: boxed.id });
  expect((await bakery.owner.client.delete(`/api/v1/files/${boxed.id}`)).body["detail"]).toMatch(/with a box/);
  const admin = await cast.admin(api.client);
  const shown = await image(admin.client);
  const banners = `/api/v1/admin/ads/campaigns/${await cast.campaign(admin.client)}/banners`;
  await admin.client.post(banners, cast.newBanner({ imageUrl: undefined, imageFileId: shown.id }));
  expect((await admin.client.delete(`/api/v1/files/${shown.id}`)).body["detail"]).toMatch(/as a banner/);
});

describe("the clean-up of files deletes", () => {
  const clearAway = () => runUpkeep(task({ task: "clear-away-files" }));
  const isThere = async (name: string) => (await files.size(keysOf(name).image)) !== null;
  const age = (interval: string) => sql`
    update files
    set unused_since = unused_since - ${interval}::text::interval, settled_at = settled_at - ${interval}::text::interval,
        expires_at = expires_at - ${interval}::text::interval, created_at = created_at - ${interval}::text::interval`;

  test("images that nothing has shown for a day, and keeps the others", async () => {
    const bakery = await cast.bakery(api.client);
    const pictures = [await image(anna.client), await image(anna.client), await image(bakery.owner.client)] as const;
    const [loose, avatar, box] = pictures;
    await anna.client.post("/api/v1/users/me/avatar", { fileId: avatar.id });
    await cast.listBox(bakery, { imageFileId: box.id });
    const repeating = await cast.listBox(bakery, { imageFileId: box.id });
    // only the other box still shows it
    await bakery.owner.client.put(`/api/v1/boxes/${repeating}`, { imageFileId: null });
    await clearAway();
    for (const { name } of pictures) expect(await isThere(name)).toBe(true);
    await age("25 hours");
    await clearAway();
    expect(await Promise.all(pictures.map(({ name }) => isThere(name)))).toEqual([false, true, true]);
    expect(outcome(await anna.client.get(`/api/v1/files/${loose.id}`))).toBe("404 NOT_FOUND");
    await anna.client.post("/api/v1/users/me/avatar", { avatarUrl: "https://cdn.example.com/anna.webp" });
    await clearAway();
    expect(await isThere(avatar.name)).toBe(true);
    await age("25 hours");
    await clearAway();
    expect(await isThere(avatar.name)).toBe(false);
  });

  test("partial files of killed processes", async () => {
    const folder = join(process.env["STORAGE_DIR"] ?? "", "unfinished");
    await mkdir(folder, { recursive: true });
    const path = join(folder, randomUUID());
    await writeFile(path, "half");
    await clearAway();
    await access(path);
    const before = new Date(Date.now() - 25 * 3_600_000);
    await utimes(path, before, before);
    await clearAway();
    await expect(access(path)).rejects.toThrow();
  });

  test("unfinished uploads, and images that could not be converted", async () => {
    const big = Buffer.concat([await pictureBytes("png"), Buffer.alloc(11 * 1_048_576)]);
    const begun = await anna.client.post("/api/v1/files/upload", fileForm(big, "image/png"));
    expect(outcome(begun)).toBe("202");
    const document = await anna.client.post("/api/v1/files/upload", fileForm(pdf, "application/pdf"));
    await sql`
      insert into files (user_id, name, status, content_type, size, settled_at)
      values (${anna.id}::uuid, ${"a".repeat(40)}, 'REFUSED', 'image/png', 1, now()),
             (${anna.id}::uuid, ${"b".repeat(40)}, 'STORED', 'image/png', 1, null)`;
    await clearAway();
    await age("25 hours");
    await clearAway();
    const left = await sql<
      { status: string }[]
    >`select status from files where content_type <> 'image/webp' order by status`;
    expect(left.map(({ status }) => status)).toEqual(["STORED", "READY", "READY", "READY"]);
    await age("7 days");
    await clearAway();
    expect(await sql`select from files where status = 'STORED'`).toHaveLength(0);
    expect(outcome(await anna.client.get(`/api/v1/files/${document.string("fileId")}`))).toBe("200");
  });
});
