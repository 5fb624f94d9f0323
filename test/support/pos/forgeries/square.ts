import { createHmac } from "node:crypto";
import { received } from "../pull.js";
import type { startSquare } from "../square.js";
import { bodied, bodyForgeries, type Forgeries, headerForgeries, others, secretForgeries, without } from "./forgery.js";

/** Forgeries of a call to a subscription whose address is `to`. */
export function forgeriesOfSquare(vendor: Awaited<ReturnType<typeof startSquare>>, to: string): Forgeries {
  const name = "x-square-hmacsha256-signature";
  const event = vendor.event();
  const body = JSON.stringify(event);
  const call = received(vendor.sign(to, event));
  const mac = (algorithm: string, text: string, key: string = vendor.secret) => createHmac(algorithm, key).update(text);
  const signed = (signature: string) => others(call, { [name]: signature });
  const lossy = received(vendor.sign(to, '{"a":"\ufffd"}'));
  return {
    ...headerForgeries(call, name),
    ...bodyForgeries(call),
    ...secretForgeries(call, "signature-key-of-another"),
    "signed with an empty secret": [signed(mac("sha256", to + body, "").digest("base64")), ["", vendor.secret]],
    "signed with another secret": received(vendor.sign(to, event, "signature-key-of-another")),
    "signed for another address": received(vendor.sign("https://evil.example.com/", event)),
    "signed for the address without TLS": received(vendor.sign(to.replace("https", "http"), event)),
    "signed for the address and a slash": received(vendor.sign(`${to}/`, event)),
    "signed for the host that the call names": others(
      received(vendor.sign("https://evil.example.com/api/v1/pos/webhooks/square", event)),
      { host: "evil.example.com", "x-forwarded-host": "evil.example.com" },
    ),
    "signed without an address": signed(mac("sha256", body).digest("base64")),
    "signed in hexadecimal": signed(mac("sha256", to + body).digest("hex")),
    "signed in base64url": signed(`${mac("sha256", to + body).digest("base64url")}_`),
    "signed with SHA-1": signed(mac("sha1", to + body).digest("base64")),
    "signed in the older header": others(without(call, name), {
      "x-square-signature": mac("sha1", to + body).digest("base64"),
    }),
    "another byte that reads the same": bodied(lossy, Buffer.from('{"a":"\xff"}', "latin1")),
  };
}
