import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { checkSignature, Refusal, type S3Keys } from "./s3-signature.js";

/** A fault of an operation: an S3 error, or no complete answer. */
export type Fault =
  | { status: number; code: string }
  /** The operation is not carried out, and the connection is cut. */
  | "cut"
  /** The operation is carried out, and the connection is cut. */
  | "lost"
  /** The answer breaks off in the middle of its body. */
  | "half"
  /** There is no answer, and the connection stays open. */
  | "silence"
  /** The status is 200, and the body is an error. */
  | "late";

interface StoredObject {
  bytes: Buffer;
  etag: string;
  headers: Record<string, string>;
}

interface StoredUpload {
  key: string;
  headers: Record<string, string>;
  begun: Date;
  parts: Map<number, { bytes: Buffer; etag: string }>;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

interface Call {
  key: string;
  query: URLSearchParams;
  request: IncomingMessage;
  body: Buffer;
}

const SMALLEST_PART_BYTES = 5 * 1_048_576;
const digest = (bytes: Buffer | string) => createHash("md5").update(bytes);
const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text: string) => text.replace(/[&<>"]/g, (sign) => escapes[sign] ?? sign);
const unescape = (text: string) =>
  Object.entries(escapes).reduceRight((so, [sign, entity]) => so.replaceAll(entity, sign), text);
const elements = (fields: Record<string, string>) =>
  Object.entries(fields)
    .map(([name, value]) => `<${name}>${escape(value)}</${name}>`)
    .join("");
const xml = (root: string, content: string) => `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>${content}</${root}>`;
const errorXml = ({ code, message, details }: Refusal) =>
  xml("Error", elements({ Code: code, Message: message, ...details, RequestId: "4442587FB7D0A2F9" }));

/** The headers of a request that are stored with the object. */
const kept = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      (name === "content-type" || name.startsWith("x-amz-meta-")) && typeof value === "string" ? [[name, value]] : [],
    ),
  );

/** The S3 operation of a request. */
function operationOf(method: string, { pathname, searchParams: query }: URL): string {
  if (query.has("uploadId"))
    return (
      { PUT: "UploadPart", POST: "CompleteMultipartUpload", DELETE: "AbortMultipartUpload", GET: "ListParts" }[
        method
      ] ?? "NotImplemented"
    );
  if (query.has("uploads"))
    return { POST: "CreateMultipartUpload", GET: "ListMultipartUploads" }[method] ?? "NotImplemented";
  if (method === "HEAD" && /^\/[^/]*\/?$/.test(pathname)) return "HeadBucket";
  return { PUT: "PutObject", GET: "GetObject", HEAD: "HeadObject", DELETE: "DeleteObject" }[method] ?? "NotImplemented";
}

/** A server with S3's protocol and one bucket in the path. It verifies signatures and keeps objects in memory. */
export async function startS3() {
  const keys: S3Keys = { accessKeyId: "AKIDFILES", secretAccessKey: "the/secret+of+the+bucket", region: "eu-test-1" };
  const bucket = "files";
  const objects = new Map<string, StoredObject>();
  const uploads = new Map<string, StoredUpload>();
  const asked: { operation: string; headers: string[] }[] = [];
  const faults: { operation: string; fault: Fault }[] = [];
  let received = 0;

  const uploadOf = ({ key, query }: Call): StoredUpload => {
    const upload = uploads.get(query.get("uploadId") ?? "");
    if (upload?.key !== key) throw new Refusal(404, "NoSuchUpload", "The specified multipart upload does not exist.");
    return upload;
  };
  const objectOf = ({ key }: Call): StoredObject => {
    const object = objects.get(key);
    if (object === undefined) throw new Refusal(404, "NoSuchKey", "The specified key does not exist.", { Key: key });
    return object;
  };

  const operations: Record<string, (call: Call) => Answer> = {
    PutObject({ key, request, body }) {
      const etag = `"${digest(body).digest("hex")}"`;
      objects.set(key, { bytes: body, etag, headers: kept(request) });
      return { status: 200, headers: { etag } };
    },
    HeadObject(call) {
      const { bytes, etag, headers } = objectOf(call);
      return { status: 200, headers: { ...headers, etag, "content-length": String(bytes.length) } };
    },
    GetObject(call) {
      const { bytes, etag, headers } = objectOf(call);
      const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(call.request.headers.range ?? "") ?? [];
      if (first === undefined) return { status: 200, headers: { ...headers, etag }, body: bytes };
      const start = Number(first);
      const end = Math.min(last ? Number(last) : Infinity, bytes.length - 1);
      if (start > end) throw new Refusal(416, "InvalidRange", "The requested range is not satisfiable");
      const range = `bytes ${start}-${end}/${bytes.length}`;
      return {
        status: 206,
        headers: { ...headers, etag, "content-range": range },
        body: bytes.subarray(start, end + 1),
      };
    },
    HeadBucket: () => ({ status: 200 }),
    DeleteObject({ key }) {
      objects.delete(key);
      return { status: 204 };
    },
    CreateMultipartUpload({ key, request }) {
      const uploadId = randomUUID();
      uploads.set(uploadId, { key, headers: kept(request), begun: new Date(), parts: new Map() });
      const result = elements({ Bucket: bucket, Key: key, UploadId: uploadId });
      return { status: 200, body: xml("InitiateMultipartUploadResult", result) };
    },
    UploadPart(call) {
      const { parts } = uploadOf(call);
      const number = Number(call.query.get("partNumber"));
      if (!(Number.isInteger(number) && number >= 1 && number <= 10_000))
        throw new Refusal(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive");
      const etag = `"${digest(call.body).digest("hex")}"`;
      parts.set(number, { bytes: call.body, etag });
      return { status: 200, headers: { etag } };
    },
    CompleteMultipartUpload(call) {
      const { key, parts, headers } = uploadOf(call);
      const text = call.body.toString();
      const named = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = ""]) => ({
        number: Number(/<PartNumber>(\d+)<\/PartNumber>/.exec(part)?.[1]),
        etag: unescape(/<ETag>(.*?)<\/ETag>/.exec(part)?.[1] ?? "").replaceAll('"', ""),
      }));
      if (!/<CompleteMultipartUpload[ >]/.test(text) || named.length === 0 || named.length > 10_000)
        throw new Refusal(400, "MalformedXML", "The XML you provided was not well-formed");
      if (named.some(({ number }, index) => index > 0 && !(number > (named[index - 1]?.number ?? 0))))
        throw new Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.");
      const chosen = named.map(({ number, etag }) => {
        const part = parts.get(number);
        if (part?.etag !== `"${etag}"`)
          throw new Refusal(400, "InvalidPart", "One or more of the specified parts could not be found.");
        return part;
      });
      if (chosen.slice(0, -1).some(({ bytes }) => bytes.length < SMALLEST_PART_BYTES))
        throw new Refusal(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
      const digests = Buffer.from(named.map(({ etag }) => etag).join(""), "hex");
      const etag = `"${digest(digests).digest("hex")}-${named.length}"`;
      objects.set(key, { bytes: Buffer.concat(chosen.map(({ bytes }) => bytes)), etag, headers });
      uploads.delete(call.query.get("uploadId") ?? "");
      return {
        status: 200,
        body: xml("CompleteMultipartUploadResult", elements({ Bucket: bucket, Key: key, ETag: etag })),
      };
    },
    AbortMultipartUpload(call) {
      uploadOf(call);
      uploads.delete(call.query.get("uploadId") ?? "");
      return { status: 204 };
    },
    // pages of one part
    ListParts(call) {
      const after = Number(call.query.get("part-number-marker") ?? 0);
      const [next, ...more] = [...uploadOf(call).parts]
        .sort(([one], [other]) => one - other)
        .filter(([number]) => number > after);
      const [number = 0, { bytes, etag } = { bytes: "", etag: "" }] = next ?? [];
      const part = elements({ PartNumber: String(number), ETag: etag, Size: String(bytes.length) });
      const result =
        elements({ Bucket: bucket, Key: call.key, IsTruncated: String(more.length > 0) }) +
        (more.length > 0 ? elements({ NextPartNumberMarker: String(number) }) : "") +
        (next ? `<Part>${part}</Part>` : "");
      return { status: 200, body: xml("ListPartsResult", result) };
    },
    // pages of one upload
    ListMultipartUploads({ query }) {
      const after = query.get("upload-id-marker");
      const all = [...uploads].sort(([one], [other]) => (one < other ? -1 : 1));
      const [next, ...more] = all.filter(([uploadId]) => after === null || uploadId > after);
      const [uploadId = "", { key = "", begun = new Date() } = {}] = next ?? [];
      const upload = elements({ Key: key, UploadId: uploadId, Initiated: begun.toISOString() });
      const result =
        elements({ Bucket: bucket, IsTruncated: String(more.length > 0) }) +
        (more.length > 0 ? elements({ NextKeyMarker: key, NextUploadIdMarker: uploadId }) : "") +
        (next ? `<Upload>${upload}</Upload>` : "");
      return { status: 200, body: xml("ListMultipartUploadsResult", result) };
    },
  };

  /** Verifies the complete request, then carries the operation out. */
  const carryOut = (operation: string, address: URL, request: IncomingMessage, body: Buffer): Answer => {
    const { method = "", url = "", headers } = request;
    const said = checkSignature({ method, url, headers }, keys, Date.now());
    if (said.startsWith("STREAMING-"))
      throw new Refusal(501, "NotImplemented", "A header you provided implies functionality that is not implemented");
    if (said !== "UNSIGNED-PAYLOAD" && said !== createHash("sha256").update(body).digest("hex"))
      throw new Refusal(400, "XAmzContentSHA256Mismatch", "The provided header does not match what was computed.");
    const [, first, ...rest] = address.pathname.split("/").map(decodeURIComponent);
    if (first !== bucket) throw new Refusal(404, "NoSuchBucket", "The specified bucket does not exist");
    const run = operations[operation];
    if (run === undefined) throw new Refusal(501, "NotImplemented");
    return run({ key: rest.join("/"), query: address.searchParams, request, body });
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", "http://s3");
    const operation = operationOf(request.method ?? "", url);
    asked.push({ operation, headers: Object.keys(request.headers) });
    const index = faults.findIndex((planned) => planned.operation === operation);
    const [{ fault } = { fault: undefined }] = index < 0 ? [] : faults.splice(index, 1);
    request.on("data", (chunk: Buffer) => (received += chunk.length));
    const body = await buffer(request);
    if (fault === "silence") return;
    if (fault === "cut") return void request.socket.destroy();

    let answer: Answer;
    try {
      if (typeof fault === "object") throw new Refusal(fault.status, fault.code);
      if (fault === "late") answer = { status: 200, body: errorXml(new Refusal(200, "InternalError")) };
      else answer = carryOut(operation, url, request, body);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, "InternalError", String(error));
      answer = { status: refusal.status, body: errorXml(refusal) };
    }
    if (fault === "lost") return void request.socket.destroy();
    const content = Buffer.from(answer.body ?? "");
    const length = { "content-length": String(content.length) };
    response.writeHead(answer.status, answer.status === 204 ? {} : { ...length, ...answer.headers });
    if (fault !== "half") return void response.end(content);
    response.write(content.subarray(0, content.length / 2), () => request.socket.destroy());
  };

  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("S3 does not listen");

  return {
    ...keys,
    bucket,
    endpoint: `http://127.0.0.1:${address.port}`,
    objects,
    uploads,
    /** Every received request: its operation and the names of its headers. */
    asked,
    /** The number of received body bytes. */
    received: () => received,
    /** Adds a fault for the next of these operations. */
    failNext: (operation: string, fault: Fault) => void faults.push({ operation, fault }),
    stop: async () => {
      server.close().closeAllConnections();
      await once(server, "close");
    },
  };
}
