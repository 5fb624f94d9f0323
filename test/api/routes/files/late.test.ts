import { afterAll, expect, test } from "@jest/globals";
import { fileForm, pictureBytes } from "../../../support/pictures.js";
import { until } from "../../../support/until.js";

process.env["SYNC_WAIT_MS"] = "0";

const { startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");
const { disconnect, startQueueWorker } = await import("../../../support/queue-worker.js");
const { images } = await import("../../../../queues/index.js");
const { convertUpload } = await import("../../../../workers/images.js");

const api = await startApi();

afterAll(async () => {
  await api.stop();
  await disconnect();
});

test("an upload that is not finished in time answers where its result will be, and a worker provides it", async () => {
  const anna = await cast.user(api.client);
  const upload = async (bytes: Uint8Array) => anna.client.post("/api/v1/files/upload", fileForm(bytes, "image/jpeg"));
  const whole = await pictureBytes("jpeg", 500, 500);
  const [good, broken] = [await upload(whole), await upload(whole.subarray(0, 900))];
  for (const { status, body, headers } of [good, broken])
    expect([status, headers.get("location")]).toEqual([202, `/api/v1/files/${String(body["fileId"])}`]);
  const [found, refused] = [good, broken].map(({ headers }) => String(headers.get("location")));
  const waiting = await anna.client.get(String(found));
  expect([waiting.status, waiting.body]).toEqual([202, { fileId: good.body["fileId"] }]);

  const early = { fileId: good.body["fileId"] };
  const avatar = await anna.client.post("/api/v1/users/me/avatar", early);
  expect([avatar.status, avatar.body]).toMatchObject([
    409,
    { code: "CONFLICT", errors: [{ path: "fileId", message: "is still being converted" }] },
  ]);
  const { owner } = await cast.bakery(api.client);
  const own = (await owner.client.post("/api/v1/files/upload", fileForm(whole, "image/jpeg"))).body["fileId"];
  const box = await owner.client.post("/api/v1/boxes", cast.newBox({ imageFileId: own }));
  expect([box.status, box.body["code"]]).toEqual([409, "CONFLICT"]);

  const worker = startQueueWorker(images, convertUpload);
  const settled = (path = "") =>
    until(async () => {
      const reply = await anna.client.get(path);
      return reply.status === 202 ? undefined : reply;
    });
  expect((await settled(found)).body).toMatchObject({ fileId: good.body["fileId"], width: 500 });
  expect((await settled(refused)).body).toMatchObject({ status: 400, code: "UNSUPPORTED_MEDIA_TYPE" });
  await worker.stop();
});
