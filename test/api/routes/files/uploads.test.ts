import { request } from "node:http";
import { describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { sql } from "../../../../sql/db.js";
import { outcome } from "../../../support/api.js";
import { fileForm, pdf, picture, pictureBytes } from "../../../support/pictures.js";
import { anna, api, boris, here, path, upload } from "../../../support/uploads.js";

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe("an image", () => {
  test.each(["jpeg", "png", "webp", "avif", "gif"])("in %s is served as WebP, with a thumbnail", async (format) => {
    const reply = await upload(await pictureBytes(format, 600, 300), `image/${format}`);
    expect(outcome(reply)).toBe("201");
    const { fileId, url, thumbnailUrl, size } = reply.body;
    expect(reply.body).toMatchObject({ contentType: "image/webp", width: 600, height: 300 });
    expect(reply.headers.get("location")).toBe(`/api/v1/files/${String(fileId)}`);
    const served = await fetch(here(url));
    expect(Object.fromEntries(served.headers)).toMatchObject({
      "content-type": "image/webp",
      "content-length": String(size),
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "accept-ranges": "bytes",
    });
    expect(await sharp(await bytesOf(served)).metadata()).toMatchObject({ format: "webp", width: 600, height: 300 });
    const thumbnail = await bytesOf(await fetch(here(thumbnailUrl)));
    expect(await sharp(thumbnail).metadata()).toMatchObject({ format: "webp", width: 400, height: 200 });
    expect((await anna.client.get(`/api/v1/files/${String(fileId)}`)).body).toEqual(reply.body);
  });

  test("keeps neither its original nor its GPS position", async () => {
    const exif = { IFD0: { Make: "SecretCam" }, IFD3: { GPSLatitudeRef: "N", GPSLatitude: "55/1 45/1 0/1" } };
    const turned = await picture(200, 100).jpeg().withExif(exif).withMetadata({ orientation: 6 }).toBuffer();
    const { body } = await upload(turned, "image/jpeg");
    expect(body).toMatchObject({ width: 100, height: 200 });
    expect((await bytesOf(await fetch(here(body["url"])))).includes("SecretCam")).toBe(false);
    const address = here(body["url"]);
    for (const other of [
      address.replace(".webp", ""),
      address.replace(".webp", ".jpg"),
      address.replace(".webp", ".pdf"),
    ])
      expect([404, 403]).toContain((await fetch(other)).status);
  });

  test("is served in ranges, and answers 304 to clients that have it", async () => {
    const { body } = await upload(await pictureBytes(), "image/jpeg");
    const address = here(body["url"]);
    const whole = await bytesOf(await fetch(address));
    const part = async (range: string, headers = {}) => fetch(address, { headers: { range, ...headers } });
    const first = await part("bytes=0-9");
    expect([first.status, first.headers.get("content-range")]).toEqual([206, `bytes 0-9/${whole.length}`]);
    expect(await bytesOf(first)).toEqual(whole.subarray(0, 10));
    expect(await bytesOf(await part("bytes=-5"))).toEqual(whole.subarray(-5));
    const beyond = await part(`bytes=${whole.length}-`);
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, `bytes */${whole.length}`]);
    for (const whatever of ["bytes=0-1,4-5", "lines=1-2", "bytes=x"]) expect((await part(whatever)).status).toBe(200);
    const etag = String(first.headers.get("etag"));
    expect((await part("bytes=0-9", { "if-range": etag })).status).toBe(206);
    expect((await part("bytes=0-9", { "if-range": '"another"' })).status).toBe(200);
    expect((await fetch(address, { headers: { "if-none-match": etag } })).status).toBe(304);
    const head = await fetch(address, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(whole.length)]);
  });
});

test.each(["", "application/octet-stream"])(
  "the type of a file sent as %j is detected from its content",
  async (type) => {
    expect((await upload(await pictureBytes("png"), type)).body).toMatchObject({ contentType: "image/webp" });
    expect((await upload(pdf, type)).body).toMatchObject({ contentType: "application/pdf" });
    expect(outcome(await upload(Buffer.from("hello"), type))).toBe("400 UNSUPPORTED_MEDIA_TYPE");
  },
);

describe("a document", () => {
  test("has a URL that expires, and is served as a download", async () => {
    const reply = await upload(pdf, "application/pdf");
    expect(outcome(reply)).toBe("201");
    expect(reply.body).toMatchObject({
      contentType: "application/pdf",
      size: pdf.length,
      thumbnailUrl: null,
      width: null,
    });
    const served = await fetch(here(reply.body["url"]));
    expect(await bytesOf(served)).toEqual(pdf);
    expect(served.headers.get("content-disposition")).toMatch(/^attachment; filename="\w+\.pdf"$/);
    expect(served.headers.get("cache-control")).toBe("private, no-store");
    expect(served.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test.each([
    ["without a signature", (url: URL) => url.searchParams.delete("signature")],
    ["with another signature", (url: URL) => url.searchParams.set("signature", "AAAA")],
    ["with a later expiry", (url: URL) => url.searchParams.set("expires", "99999999999")],
    ["after its expiry", (url: URL) => url.searchParams.set("expires", "1000000000")],
    ["without an expiry", (url: URL) => url.searchParams.delete("expires")],
    ["of another document", (url: URL) => (url.pathname = `/files/${"0".repeat(40)}.pdf`)],
  ])("is not served %s", async (_case, change) => {
    const url = new URL(here((await upload(pdf, "application/pdf")).body["url"]));
    change(url);
    expect((await fetch(url)).status).toBe(403);
  });

  test("gets a new URL whenever its owner reads it, but no other user does", async () => {
    const id = (await upload(pdf, "application/pdf")).string("fileId");
    expect((await fetch(here((await anna.client.get(`/api/v1/files/${id}`)).body["url"]))).status).toBe(200);
    expect((await boris.client.get(`/api/v1/files/${id}`)).status).toBe(404);
    expect((await boris.client.delete(`/api/v1/files/${id}`)).status).toBe(404);
  });

  test("is not served after its owner deletes it", async () => {
    const reply = await upload(pdf, "application/pdf");
    const id = reply.string("fileId");
    expect((await anna.client.delete(`/api/v1/files/${id}`)).status).toBe(204);
    expect((await anna.client.get(`/api/v1/files/${id}`)).status).toBe(404);
    expect((await fetch(here(reply.body["url"]))).status).toBe(404);
  });
});

describe("an upload is refused", () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>';
  const unsupported = "400 UNSUPPORTED_MEDIA_TYPE";
  test.each([
    ["that is empty", () => Buffer.alloc(0), "image/png"],
    ["that is text", () => Buffer.from("hello"), "text/plain"],
    ["that is text declared as an image", () => Buffer.from("hello"), "image/png"],
    ["that is SVG", () => Buffer.from(svg), "image/svg+xml"],
    ["that is SVG declared as PNG", () => Buffer.from(svg), "image/png"],
    ["that is HTML declared as PNG", () => Buffer.from("<!doctype html><script>1</script>"), "image/png"],
    ["that is TIFF", () => picture(9, 9).tiff().toBuffer(), "image/tiff"],
    ["that is JPEG declared as PNG", () => pictureBytes("jpeg"), "image/png"],
    ["that is PNG declared as PDF", () => pictureBytes("png"), "application/pdf"],
    ["that is PDF declared as JPEG", () => pdf, "image/jpeg"],
    ["that is truncated", async () => (await pictureBytes("jpeg", 500, 500)).subarray(0, 900), "image/jpeg"],
    ["that only begins as JPEG", () => Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3]), "image/jpeg"],
    ["of too many pixels", () => picture(9_000, 9_000).png({ compressionLevel: 9 }).toBuffer(), "image/png"],
  ])("%s", async (_case, bytes, type) => {
    expect(outcome(await upload(await bytes(), type))).toBe(unsupported);
  });

  test.each([
    ["image/png", "This is image/jpeg: send the part with that Content-Type, not image/png."],
    ["text/plain", "This is image/jpeg: send the part with that Content-Type, not text/plain or none."],
    [`a/${"b".repeat(100)}`, "This is image/jpeg: send the part with that Content-Type, not another."],
  ])("declared as %s, with the detected type in the answer", async (type, detail) => {
    expect((await upload(await pictureBytes("jpeg"), type)).body).toMatchObject({
      code: "UNSUPPORTED_MEDIA_TYPE",
      detail,
    });
  });

  test("without the file, in another format, truncated, or without a token", async () => {
    const bytes = await pictureBytes();
    expect(outcome(await anna.client.post(path, fileForm(bytes, "image/jpeg", "image")))).toBe("400 VALIDATION_ERROR");
    expect(outcome(await anna.client.post(path, { file: "x" }))).toBe("400 UNSUPPORTED_MEDIA_TYPE");
    expect(outcome(await anna.client.post(path))).toBe("400 UNSUPPORTED_MEDIA_TYPE");
    const raw = (body: string, type: string) => anna.client.post(path, body, { headers: { "content-type": type } });
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: image/jpeg\r\n\r\n';
    expect(outcome(await raw(`${head}ab`, "multipart/form-data; boundary=x"))).toBe("400 BAD_REQUEST");
    expect(outcome(await raw("ab", "multipart/form-data"))).toBe("400 BAD_REQUEST");
    expect(outcome(await raw("ab", "multipart/form-data; boundary=x"))).toBe("400 BAD_REQUEST");
    expect(outcome(await raw("", "multipart/form-data; boundary=x"))).toBe("400 BAD_REQUEST");
    expect(outcome(await api.client.post(path, fileForm(bytes, "image/jpeg")))).toBe("401 UNAUTHORIZED");
  });

  test.each([
    ["with a large part that has no name", `Content-Type: text/csv\r\n\r\n${"x".repeat(300_000)}\r\n--x--\r\n`],
    ["with an endless header", `X: ${"y".repeat(300_000)}\r\n--x--\r\n`],
    ["with an invalid header", `y\r\n\r\n${"x".repeat(300_000)}\r\n--x--\r\n`],
    ["that continues after its end", `X: y\r\n\r\n\r\n--x--\r\n${"x".repeat(300_000)}`],
    ["that breaks off before the file", `X: y\r\n\r\n${"x".repeat(300_000)}`],
    ["without parts", "\r\n--x--\r\n"],
  ])("in a form %s", async (_case, rest) => {
    const form = { headers: { "content-type": "multipart/form-data; boundary=x" } };
    expect((await anna.client.post(path, `--x\r\n${rest}`, form)).status).toBe(400);
  });

  test("but never because of its file name", async () => {
    const form = new FormData();
    form.append("file", new Blob([await pictureBytes()], { type: "image/jpeg" }), '../../etc/"\u202e\r\nX: y.jpg');
    expect(outcome(await anna.client.post(path, form))).toBe("201");
  });

  test("that declares a size above the maximum, before its body is read", async () => {
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${api.client.url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${anna.client.token ?? ""}`,
          "content-type": "multipart/form-data; boundary=x",
          "content-length": 200 * 1_048_576,
        },
      });
      // the body is never sent
      sent.flushHeaders();
      sent.on("response", (response) => {
        resolve(response.statusCode);
        sent.destroy();
      });
      sent.on("error", reject);
    });
    expect(answer).toBe(413);
  });

  test.each([1, 200, 4_099])("but not when its first %d bytes arrive alone", async (first) => {
    const bytes = await pictureBytes("png", 300, 200);
    const form = new Response(fileForm(bytes, "image/png"));
    const whole = Buffer.from(await form.arrayBuffer());
    const beginning = whole.indexOf(bytes) + first;
    const sent = request(`${api.client.url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${anna.client.token ?? ""}`,
        "content-type": String(form.headers.get("content-type")),
        "content-length": whole.length,
      },
    });
    const status = new Promise((resolve, reject) => {
      sent.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
    });
    sent.write(whole.subarray(0, beginning));
    for (let n = 0; n < 3; n += 1) expect((await fetch(`${api.client.url}/healthz`)).status).toBe(200);
    sent.end(whole.subarray(beginning));
    expect(await status).toBe(201);
  });

  test("but a valid one after these is accepted", async () => {
    expect(outcome(await upload(await pictureBytes(), "image/jpeg"))).toBe("201");
    const left = await sql`select status from files where status not in ('READY', 'REFUSED')`;
    expect(left).toEqual([]);
  });
});
