import { createHash, randomUUID } from "node:crypto";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
  type ListMultipartUploadsCommandOutput,
  type ListPartsCommandOutput,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { checkedKey } from "./storage-key.js";
import {
  checkSize,
  NoFile,
  StorageUnavailable,
  WrongParts,
  type PartsUpload,
  type Storage,
  type UploadedPart,
} from "./storage.js";

/** S3's minimum for every part but the last. */
const PART_BYTES = 5 * 1_048_576;

/** S3's error codes for a list of parts that are not those uploaded. */
const wrongParts: ReadonlySet<string> = new Set(["InvalidPart", "InvalidPartOrder", "NoSuchUpload", "EntityTooSmall"]);

const nothing = (): void => undefined;
/** Failures are thrown; without a logger the SDK warns of some on the console too. */
const silent = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

export interface S3Options {
  bucket: string;
  region: string;
  /** Another vendor's server, with buckets in the path; default AWS. */
  endpoint?: string | undefined;
  /** Default: the machine's, as the SDK finds them. */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** How long a connection may be idle, also while its reader pauses. */
  silenceMs?: number;
}

/** S3 refused a request or did not answer; `code` is S3's error code or the network's. */
class S3Failure extends StorageUnavailable {
  override name = "S3Failure";
  constructor(
    message: string,
    readonly code: string,
    readonly answered: number | undefined,
  ) {
    super(message);
  }
}

/**
 * Stores files in a bucket at S3 or a vendor with its protocol. Not all vendors list the uploads that a killed process left:
 * there a lifecycle rule of the bucket must remove them (AbortIncompleteMultipartUpload).
 */
export function s3Storage({ bucket, region, endpoint, credentials, silenceMs = 30_000 }: S3Options): Storage {
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials && { credentials }),
    // Other vendors, and clients that upload to a signed address, do not know AWS's newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: 3,
    logger: silent,
    requestHandler: {
      connectionTimeout: 5_000,
      socketTimeout: silenceMs,
      httpAgent: { maxSockets: 512 },
      httpsAgent: { maxSockets: 512 },
    },
  });
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        try {
          return await next(args);
        } catch (error) {
          throw failureOf(commandName?.replace(/Command$/, "") ?? "a request", error);
        }
      },
    { step: "initialize", priority: "high", name: "plainFailures" },
  );

  const at = (key: string) => ({ Bucket: bucket, Key: checkedKey(key) });
  const find = async (key: string) => {
    try {
      return await client.send(new HeadObjectCommand(at(key)));
    } catch (error) {
      if (error instanceof S3Failure && error.answered === 404) return null;
      throw error;
    }
  };

  /** Returns the size of each stored part, by its number and ETag. */
  const sizesOf = async ({ key, uploadId }: PartsUpload): Promise<Map<string, number>> => {
    const sizes = new Map<string, number>();
    let after: { PartNumberMarker?: string | undefined } | undefined = {};
    while (after) {
      const page: ListPartsCommandOutput = await client.send(
        new ListPartsCommand({ ...at(key), UploadId: uploadId, ...after }),
      );
      for (const { PartNumber: partNumber = 0, ETag: etag = "", Size: size } of page.Parts ?? [])
        sizes.set(nameOf({ partNumber, etag }), size ?? Infinity);
      after = page.IsTruncated ? { PartNumberMarker: page.NextPartNumberMarker } : undefined;
    }
    return sizes;
  };

  const dropParts: Storage["dropParts"] = async ({ key, uploadId }) => {
    try {
      await client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId: uploadId }));
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  };

  return {
    async put(key, body, contentType) {
      const place = at(key);
      const mark = randomUUID();
      const ahead = new PassThrough();
      // An error of the body ends `ahead` too; the upload then removes its parts and fails.
      const reading = pipeline(body, ahead).catch(() => undefined);
      try {
        // With several parts at a time, the others would read on to the end of the body after one has failed.
        await new Upload({
          client,
          params: { ...place, Body: ahead, ContentType: contentType, Metadata: { mark } },
          partSize: PART_BYTES,
          queueSize: 1,
        }).done();
      } catch (error) {
        ahead.destroy();
        await reading;
        if (!isGone(error) || (await find(key))?.Metadata?.["mark"] !== mark) throw error;
      }
    },

    async size(key) {
      const found = await find(key);
      if (found === null) return null;
      if (found.ContentLength === undefined) throw new Error("S3 does not say how long the file is");
      return found.ContentLength;
    },

    async read(key, range) {
      const command = new GetObjectCommand({
        ...at(key),
        ...(range && { Range: `bytes=${range.start}-${range.end}` }),
      });
      const { Body: body } = await client.send(command).catch((error: unknown) => {
        throw error instanceof S3Failure && error.code === "NoSuchKey" ? new NoFile() : error;
      });
      if (!(body instanceof Readable)) throw new Error("S3 answered without a file");
      return body;
    },

    async delete(key) {
      await client.send(new DeleteObjectCommand(at(key)));
    },

    async beginParts(key, contentType) {
      const command = new CreateMultipartUploadCommand({ ...at(key), ContentType: contentType });
      const { UploadId: uploadId } = await client.send(command);
      if (uploadId === undefined) throw new Error("S3 answered without an upload id");
      return { key, uploadId };
    },

    partUrl({ key, uploadId }, partNumber, bytes, expiresAt) {
      const part = { ...at(key), UploadId: uploadId, PartNumber: partNumber };
      // the signature covers Content-Length: S3 would take up to 5 GB otherwise
      const command = new UploadPartCommand({ ...part, ContentLength: bytes });
      const now = Math.floor(Date.now() / 1_000);
      const end = Math.floor(expiresAt.getTime() / 1_000);
      // An address is valid for a second or more, so one that has expired is signed in the past.
      const start = Math.min(now, end - 1);
      return getSignedUrl(client, command, { signingDate: new Date(start * 1_000), expiresIn: end - start });
    },

    async putPart({ key, uploadId }, partNumber, body, bytes) {
      const part = { ...at(key), UploadId: uploadId, PartNumber: partNumber };
      const brokenOff = new AbortController();
      body.once("error", () => brokenOff.abort());
      try {
        const { ETag: etag } = await client.send(new UploadPartCommand({ ...part, Body: body, ContentLength: bytes }), {
          abortSignal: brokenOff.signal,
        });
        if (etag === undefined) throw new Error("S3 answered without an ETag");
        return etag;
      } catch (error) {
        throw isGone(error) ? new WrongParts("this upload is over") : error;
      }
    },

    async joinParts({ key, uploadId }, parts, range) {
      if (parts.length === 0) throw new WrongParts("no part is named");
      const inOrder = parts.toSorted((one, other) => one.partNumber - other.partNumber);
      try {
        const sizes = await sizesOf({ key, uploadId });
        // a part that is not listed is refused when the parts are joined
        checkSize(
          inOrder.reduce((total, part) => total + (sizes.get(nameOf(part)) ?? NaN), 0),
          range,
        );
        await client.send(
          new CompleteMultipartUploadCommand({
            ...at(key),
            UploadId: uploadId,
            MultipartUpload: { Parts: inOrder.map(({ partNumber, etag }) => ({ PartNumber: partNumber, ETag: etag })) },
          }),
        );
      } catch (error) {
        if (!(error instanceof S3Failure) || !wrongParts.has(error.code)) throw error;
        if (isGone(error) && (await find(key))?.ETag === etagOf(inOrder)) return;
        throw new WrongParts(`S3 answered ${error.code}`);
      }
    },

    dropParts,

    async dropAbandoned(since, isFileKey) {
      let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {};
      while (after) {
        const page: ListMultipartUploadsCommandOutput = await client.send(
          new ListMultipartUploadsCommand({ Bucket: bucket, ...after }),
        );
        for (const { Key: key = "", UploadId: uploadId = "", Initiated: begun } of page.Uploads ?? [])
          if (begun && begun < since && isFileKey(key)) await dropParts({ key, uploadId });
        const { IsTruncated: more, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
        after = more ? { KeyMarker, UploadIdMarker } : undefined;
      }
    },

    space: () => Promise.resolve(null),
    async check() {
      await client.send(new HeadBucketCommand({ Bucket: bucket }));
    },
  };
}

/**
 * Whether the upload no longer exists. A completed one does not either: when the response was lost, the retry fails so, and
 * only the file itself shows that the upload succeeded.
 */
const isGone = (error: unknown): boolean => error instanceof S3Failure && error.code === "NoSuchUpload";

/** Names one version of a part; clients quote its ETag or not. */
const nameOf = ({ partNumber, etag }: UploadedPart): string => `${partNumber} ${etag.replaceAll('"', "")}`;

/** Returns the ETag that S3 gives a file of these parts: the digest of their digests, and their number. */
function etagOf(parts: readonly UploadedPart[]): string {
  const digests = parts.map(({ etag }) => Buffer.from(etag.replaceAll('"', ""), "hex"));
  return `"${createHash("md5").update(Buffer.concat(digests)).digest("hex")}-${parts.length}"`;
}

/** Reduces an SDK error, which carries request and response with their signatures, to what may be logged. */
function failureOf(command: string, error: unknown): S3Failure {
  const known: unknown[] = error instanceof Error ? [Reflect.get(error, "code"), error.name] : [];
  const words = known.filter((word): word is string => typeof word === "string" && /^\w{1,64}$/.test(word));
  if (!(error instanceof S3ServiceException)) {
    const reason = words[0] ?? "unknown";
    return new S3Failure(`no answer from S3 to ${command} (${reason})`, reason, undefined);
  }
  const { httpStatusCode: status } = error.$metadata;
  const code = words.at(-1) ?? "unknown";
  return new S3Failure(`S3 answered ${command} with ${status ?? "no status"} ${code}`, code, status);
}
