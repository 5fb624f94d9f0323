import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Character } from "../../../support/cast.js";

const BYTES = 30 * 1_048_576;
process.env["SYNC_WAIT_MS"] = "0";
process.env["OPEN_UPLOADS"] = "4";
process.env["OPEN_UPLOAD_BYTES"] = String(BYTES);

const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { fileForm, heavyPicture, pdf, pictureBytes } = await import("../../../support/pictures.js");
const { disconnect } = await import("../../../support/queue-worker.js");
const { until } = await import("../../../support/until.js");
const { openQueue } = await import("../../../../queues/broker.js");
const { images } = await import("../../../../queues/index.js");
const { sql } = await import("../../../../sql/db.js");
const { consume } = await import("../../../../workers/consume.js");
const { convertUpload } = await import("../../../../workers/images.js");
const { startRelay } = await import("../../../../workers/relay.js");

let api: Awaited<ReturnType<typeof startApi>>;
let anna: Character;
let boris: Character;

beforeAll(async () => {
  api = await startApi();
  [anna, boris] = [await cast.user(api.client), await cast.user(api.client)];
});

afterAll(async () => {
  await api.stop();
  await disconnect();
});

const upload = ({ client }: Character, bytes: Uint8Array, type = "image/jpeg") =>
  client.post("/api/v1/files/upload", fileForm(bytes, type));

test("images that wait for their conversion count as unfinished, and users take turns in converting", async () => {
  const picture = await pictureBytes();
  const ids: string[] = [];
  for (const as of [anna, anna, anna, anna, boris, boris]) {
    const reply = await upload(as, picture);
    expect(reply.status).toBe(202);
    ids.push(reply.string("fileId"));
  }
  expect(outcome(await upload(anna, picture))).toBe("409 CONFLICT");
  expect(outcome(await upload(anna, pdf, "application/pdf"))).toBe("409 CONFLICT");

  const relay = startRelay([images]);
  await until(async () => {
    const { waiting = 0, prioritized = 0 } = await openQueue(images).getJobCounts("waiting", "prioritized");
    return waiting + prioritized === ids.length;
  });
  const converted: number[] = [];
  const consumer = consume(
    images,
    async (job) => {
      await convertUpload(job);
      converted.push(ids.indexOf(job.payload.fileId));
    },
    { concurrency: 1, signal: new AbortController().signal },
  );
  await until(() => converted.length === ids.length);
  await Promise.all([relay.stop(), consumer.close()]);
  // anna's first, boris's first, anna's second, …
  expect(converted).toEqual([0, 4, 1, 5, 2, 3]);
  expect((await upload(anna, pdf, "application/pdf")).status).toBe(201);
});

test("images that arrive at once are counted one after the other", async () => {
  const user = await cast.user(api.client);
  const picture = await pictureBytes();
  await Promise.all([1, 2, 3, 4].map(() => upload(user, picture)));
  const jobs = await sql<{ priority: number }[]>`
    select j.priority
    from staged_jobs j join files f on j.payload ->> 'fileId' = f.id::text
    where f.user_id = ${user.id}::uuid
    order by j.priority`;
  expect(jobs.map(({ priority }) => priority)).toEqual([0, 1, 2, 3]);
});

test("unfinished uploads are bounded by their bytes too, until they are converted or deleted", async () => {
  const user = await cast.user(api.client);
  const large = await heavyPicture(11);
  const replies = [await upload(user, large, "image/png"), await upload(user, large, "image/png")];
  expect(replies.map(({ status }) => status)).toEqual([202, 202]);
  expect(outcome(await upload(user, large, "image/png"))).toBe("409 CONFLICT");
  await sql`
    update files set status = 'STORED', expires_at = null where id = ${replies[0]?.string("fileId") ?? ""}::uuid`;
  expect(outcome(await upload(user, large, "image/png"))).toBe("409 CONFLICT");
  expect((await user.client.delete(`/api/v1/files/${replies[1]?.string("fileId") ?? ""}`)).status).toBe(204);
  expect((await upload(user, large, "image/png")).status).toBe(202);
});
