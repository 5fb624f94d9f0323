import { z } from "zod";
import { refusal, refusalWith } from "../../http/refusal.js";
import { storageUnreachable } from "../../http/refusals.js";

export const notAccepted = refusal(
  400,
  "UNSUPPORTED_MEDIA_TYPE",
  "FILE_TYPE_NOT_ACCEPTED",
  "Only JPEG, PNG, WebP, AVIF and GIF images and PDF documents are accepted.",
  "Convert the file in the app; HEIC is not accepted.",
);
export const imageUnreadable = refusal(
  400,
  "UNSUPPORTED_MEDIA_TYPE",
  "IMAGE_UNREADABLE",
  "This image cannot be read: it is damaged, larger than 50 megapixels, longer than 16,383 pixels, or takes too much to decode.",
  "Let the user choose another image, or make it smaller in the app.",
);

const contentType = z.string().meta({ description: "what the file is, by its content", example: "image/png" });
export const declaredAsAnother = refusalWith(400, "UNSUPPORTED_MEDIA_TYPE", "OTHER_TYPE_DECLARED", {
  detail: ({ contentType, declared }) =>
    `This is ${contentType}: send the part with that Content-Type, not ${declared ?? "another"}.`,
  remedy: "Declare the form's part as `contentType`, or as `application/octet-stream`.",
  facts: {
    contentType,
    declared: z.string().nullable().meta({ description: "the type that was declared; null when it is no type" }),
  },
  example: { contentType: "image/png", declared: "image/jpeg" },
});
export const begunAsAnother = refusalWith(400, "UNSUPPORTED_MEDIA_TYPE", "OTHER_TYPE_BEGUN", {
  detail: ({ contentType, begun }) => `This is ${contentType}, but its upload began as ${begun}.`,
  remedy: "Begin a new upload, and send the parts of one file in order.",
  facts: { contentType, begun: z.string() },
  example: { contentType: "image/png", begun: "application/pdf" },
});
export const tooManyUploads = refusalWith(409, "CONFLICT", "TOO_MANY_UPLOADS", {
  detail: ({ maxUploads, maxBytes }) =>
    `At most ${maxUploads} of your uploads, of ${maxBytes} bytes, may be unfinished or wait for their ` +
    "conversion: finish or delete one, or try again shortly.",
  remedy: "Finish or delete an upload of `GET /files`, or wait until images are converted.",
  facts: { maxUploads: z.int(), maxBytes: z.int() },
  example: { maxUploads: 50, maxBytes: 1_073_741_824 },
});
export const documentsFull = refusal(
  409,
  "CONFLICT",
  "DOCUMENTS_FULL",
  "Your documents may not exceed 1 GB: delete some first.",
  "Let the user delete documents.",
);
export const imageInUse = refusal(
  409,
  "CONFLICT",
  "IMAGE_IN_USE",
  "This image is shown as your avatar: remove it there first.",
  "Replace the image where it is shown, then delete it.",
);
export const fileConverting = refusal(
  409,
  "CONFLICT",
  "FILE_CONVERTING",
  "This file is being converted.",
  "Wait until `GET /files/{id}` answers 200, then delete it.",
);
export const addressExpired = refusal(
  403,
  "FORBIDDEN",
  "ADDRESS_EXPIRED",
  "This address has expired or was not issued by this service.",
  "Read the file or the upload again: it has a new address.",
);
export const lengthMissing = refusal(
  400,
  "BAD_REQUEST",
  "LENGTH_MISSING",
  "A part must be sent with its Content-Length.",
  "Send the part as a whole, not as a stream of unknown length.",
);
export const otherLength = refusalWith(403, "FORBIDDEN", "OTHER_LENGTH", {
  detail: ({ size }) => `This address takes a part of exactly ${size} bytes.`,
  remedy: "Cut the file after every `partSize` bytes, and send each part as a whole. A bucket answers 403 too.",
  facts: { size: z.int() },
  example: { size: 8_388_608 },
});

/** Why an upload that is complete may be refused. */
export const settleErrors = [notAccepted, imageUnreadable, tooManyUploads, documentsFull, storageUnreachable];
