import { createDecipheriv, createECDH, hkdfSync, randomBytes, randomUUID, type ECDH } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

/** The private half of a browser's Web Push subscription. */
export interface Secrets {
  ecdh: ECDH;
  auth: Buffer;
}

const info = (text: string, ...parts: Buffer[]) => Buffer.concat([Buffer.from(`${text}\0`), ...parts]);
const derive = (secret: Buffer, salt: Buffer, about: Buffer, bytes: number) =>
  Buffer.from(hkdfSync("sha256", secret, salt, about, bytes));

/**
 * Decrypts a Web Push message as the receiving browser does: it reads the header (RFC 8188, section 2.1) and derives the
 * key from both sides' keys (RFC 8291, section 3.4). Throws unless the message is one valid record.
 */
export function decrypt({ ecdh, auth }: Secrets, body: Buffer): string {
  if (body.length < 21 + 65 + 17) throw new Error("shorter than any message");
  const salt = body.subarray(0, 16);
  const recordSize = body.readUInt32BE(16);
  if (body[20] !== 65) throw new Error("the sender's key is missing");
  const senderKey = body.subarray(21, 86);
  const record = body.subarray(86);
  if (record.length > recordSize) throw new Error("more than one record");

  const about = info("WebPush: info", ecdh.getPublicKey(), senderKey);
  const shared = derive(ecdh.computeSecret(senderKey), auth, about, 32);
  const key = derive(shared, salt, info("Content-Encoding: aes128gcm"), 16);
  const nonce = derive(shared, salt, info("Content-Encoding: nonce"), 12);
  const decipher = createDecipheriv("aes-128-gcm", key, nonce).setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.findLastIndex((byte) => byte !== 0);
  if (padded[end] !== 2) throw new Error("not the last record");
  return padded.subarray(0, end).toString("utf8");
}

/** A browser and its push service in one local server: it receives messages, decrypts them and keeps their texts. */
export async function openBrowser() {
  const ecdh = createECDH("prime256v1");
  ecdh.generateKeys();
  const auth = randomBytes(16);
  const path = `/${randomUUID()}`;
  const shown: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.url === path) shown.push(decrypt({ ecdh, auth }, Buffer.concat(chunks)));
      response.writeHead(request.url === path ? 201 : 404).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    /** What `JSON.stringify(subscription)` gives an app in a browser. */
    pushToken: JSON.stringify({
      endpoint: `http://127.0.0.1:${port}${path}`,
      expirationTime: null,
      keys: { p256dh: ecdh.getPublicKey("base64url"), auth: auth.toString("base64url") },
    }),
    shown,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
