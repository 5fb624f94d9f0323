import { beforeEach, describe, expect, test } from "@jest/globals";
import { openSession, upload, type BegunUpload, type Progress } from "../../../scripts/client/src/index.js";
import { heavyPicture, pictureBytes } from "../../support/pictures.js";
import { anna, api, here } from "../../support/uploads.js";

/** The requests that were sent: their methods and the last words of their paths. */
let sent: string[];
/** How many bytes of files they had. */
let sentBytes: number;
/** Whether the connection is cut before this request. */
let cut: (request: string) => boolean;

beforeEach(() => {
  sent = [];
  sentBytes = 0;
  cut = () => false;
});

const bytesOf = (body: RequestInit["body"]): number => {
  const file = body instanceof FormData ? body.get("file") : body;
  return file instanceof Blob ? file.size : 0;
};

/** A session of a newly started app. */
function startApp() {
  const tokens = {
    accessToken: anna.client.token ?? "",
    refreshToken: "none",
    tokenType: "Bearer" as const,
    expiresIn: 900,
  };
  return openSession({
    baseUrl: api.client.url,
    attempts: 1,
    store: { read: () => tokens, write: () => undefined },
    fetch: (address, init) => {
      const request = `${init?.method ?? "GET"} ${new URL(new Request(address).url).pathname.split("/").at(-1) ?? ""}`;
      if (cut(request)) return Promise.reject(new TypeError("fetch failed"));
      sent.push(request);
      sentBytes += bytesOf(init?.body);
      return fetch(here(new Request(address).url), init);
    },
  });
}

const blobOf = (bytes: Uint8Array, type: string) => new Blob([new Uint8Array(bytes)], { type });

test("a small file is uploaded as a whole", async () => {
  const file = blobOf(await pictureBytes("jpeg", 60, 40), "image/jpeg");
  const seen: Progress[] = [];
  const photo = await upload(file, startApp(), { onProgress: (progress) => seen.push(progress) });
  expect(photo).toMatchObject({ contentType: "image/webp", width: 60, height: 40 });
  expect(seen).toEqual([{ sentBytes: file.size, totalBytes: file.size, begun: null }]);
  expect(sent).toEqual(["POST upload"]);
});

test("a refused file throws its problem", async () => {
  const text = blobOf(new TextEncoder().encode("no picture"), "image/png");
  await expect(upload(text, startApp())).rejects.toMatchObject({ problem: { reason: "FILE_TYPE_NOT_ACCEPTED" } });
});

describe("a file above 10 MB", () => {
  test("is cut, and resumed after a restart with the parts that have not arrived", async () => {
    const file = blobOf(await heavyPicture(18), "image/png");
    const seen: Progress[] = [];
    const onProgress = (progress: Progress) => seen.push(progress);

    cut = (request) => request === "PUT 3";
    await expect(upload(file, startApp(), { onProgress })).rejects.toThrow("fetch failed");
    expect(sent).toEqual(["POST upload", "PUT 1", "PUT 2"]);
    const begun = JSON.parse(JSON.stringify(seen.at(-1)?.begun)) as BegunUpload;

    sent = [];
    cut = () => false;
    const photo = await upload(file, startApp(), { begun, onProgress });
    expect(sent).toEqual([`GET ${begun.fileId}`, "PUT 3", "POST complete"]);
    expect(photo).toMatchObject({ fileId: begun.fileId, contentType: "image/webp", width: 2_048 });
    const part = 8 * 1_048_576;
    expect(seen.map((progress) => progress.sentBytes)).toEqual([0, part, 2 * part, 2 * part, file.size]);
    expect(new Set(seen.map(({ totalBytes }) => totalBytes))).toEqual(new Set([file.size]));
    // beside its beginning, no byte was sent twice
    expect(sentBytes - file.size).toBeLessThan(5_000);

    sent = [];
    expect(await upload(file, startApp(), { begun })).toEqual(photo);
    expect(sent).toEqual([`GET ${begun.fileId}`]);
  });

  test("stops when it is aborted, and throws what is wrong with a part", async () => {
    const file = blobOf(await heavyPicture(11), "image/png");
    const stopped = new AbortController();
    const app = startApp();
    const stopping = upload(file, app, { signal: stopped.signal, onProgress: () => stopped.abort() });
    await expect(stopping).rejects.toThrow("aborted");
    expect(sent).not.toContain("PUT 2");

    const forged = { ...app, fetchOpen: (address: unknown, init?: RequestInit) => fetch(`${here(address)}x`, init) };
    await expect(upload(file, forged)).rejects.toMatchObject({ problem: { reason: "ADDRESS_EXPIRED" } });
  });
});
