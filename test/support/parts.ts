/** Sends a file to the API at `api` in the parts of the upload's policy; returns the parts for its completion. */
export async function sendParts(api: string, uploadPolicy: unknown, bytes: Uint8Array) {
  const { parts, partSize } = uploadPolicy as { parts: { url: string }[]; partSize: number };
  const needed = parts.slice(0, Math.ceil(bytes.length / partSize));
  return Promise.all(
    needed.map(async ({ url }, index) => {
      const { pathname, search } = new URL(url);
      const body = bytes.slice(index * partSize, (index + 1) * partSize);
      const response = await fetch(api + pathname + search, { method: "PUT", body });
      return { partNumber: index + 1, etag: String(response.headers.get("etag")) };
    }),
  );
}
