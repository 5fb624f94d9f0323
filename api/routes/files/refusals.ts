import { ApiError } from "../../../lib/process/errors.js";

export const unsupported = (detail: string) => new ApiError(400, "UNSUPPORTED_MEDIA_TYPE", detail);
export const notAccepted = () =>
  unsupported("Only JPEG, PNG, WebP, AVIF and GIF images and PDF documents are accepted.");
export const unreadable = () =>
  unsupported(
    "This image cannot be read: it is damaged, larger than 50 megapixels, longer than 16,383 pixels, or takes too much to decode.",
  );
