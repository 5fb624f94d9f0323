/** Sends a file in the parts that an upload's policy asks for, to the API at `api`; answers them as its end is told of them. */
export async function sendParts(api: string, uploadPolicy: unknown, bytes: Uint8Array) {
  const { parts, partSize } = uploadPolicy as { parts: { url: string }[]; partSize: number };
  return Promise.all(
    parts.map(async ({ url }, index) => {
      const { pathname, search } = new URL(url);
      const body = bytes.slice(index * partSize, (index + 1) * partSize);
      const response = await fetch(api + pathname + search, { method: "PUT", body });
      return { partNumber: index + 1, etag: String(response.headers.get("etag")) };
    }),
  );
}
