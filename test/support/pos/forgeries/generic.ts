import { createHmac } from "node:crypto";
import { newWebhookSecret, type startGenericPos } from "../generic.js";
import { received } from "../pull.js";
import { bodied, bodyForgeries, type Forgeries, headerForgeries, others, secretForgeries } from "./forgery.js";

/** Forgeries of a call at this time. */
export function forgeriesOfGeneric(vendor: Awaited<ReturnType<typeof startGenericPos>>, now: Date): Forgeries {
  const event = vendor.event();
  const body = JSON.stringify(event);
  const call = received(vendor.sign(event, { at: now }));
  const id = String(call.headers["webhook-id"]);
  const seconds = Math.floor(now.getTime() / 1_000);
  const key = Buffer.from(vendor.secret.slice("whsec_".length), "base64");
  const mac = (text: string, by: Buffer | string = key) => createHmac("sha256", by).update(text);
  const content = `${id}.${seconds}.${body}`;
  const signed = (signature: string) => others(call, { "webhook-signature": signature });
  /** A valid signature with the time written in this form. */
  const timed = (written: string) =>
    others(call, {
      "webhook-timestamp": written,
      "webhook-signature": `v1,${mac(`${id}.${written}.${body}`).digest("base64")}`,
    });
  const lossy = received(vendor.sign('{"a":"\ufffd"}', { at: now }));
  const right = mac(content).digest("base64");
  return {
    ...headerForgeries(call, "webhook-id"),
    ...headerForgeries(call, "webhook-timestamp"),
    ...headerForgeries(call, "webhook-signature"),
    ...bodyForgeries(call),
    ...secretForgeries(call, newWebhookSecret()),
    "an old secret, while there are two": [call, [newWebhookSecret(), newWebhookSecret()]],
    "signed with another secret": received(vendor.sign(event, { at: now, keys: [newWebhookSecret()] })),
    "an account with a NUL in its name": received(
      vendor.sign({ ...event, partnerExternalId: "a\u0000b" }, { at: now, keys: [newWebhookSecret()] }),
    ),
    "a stale time": timed(String(seconds - 301)),
    "a future time": timed(String(seconds + 301)),
    "a time of 1970": timed("0"),
    "a time in milliseconds": timed(String(now.getTime())),
    "a time with a fraction": timed(`${seconds}.0`),
    "a time with a sign": timed(`+${seconds}`),
    "a time with a space": timed(` ${seconds}`),
    "a time with trailing letters": timed(`${seconds}abc`),
    "a time in hexadecimal": timed(`0x${seconds.toString(16)}`),
    "a time with an exponent": timed(`${seconds}e0`),
    "no time at all": timed("NaN"),
    "a time as ISO text": timed(now.toISOString()),
    "a later time than was signed": others(call, { "webhook-timestamp": String(seconds + 1) }),
    "another id than was signed": others(call, { "webhook-id": "msg_another" }),
    "an id that reaches into the time": others(call, { "webhook-id": `${id}.${seconds}`, "webhook-timestamp": "1" }),
    "no version": signed(right),
    "another version": signed(`v2,${right}`),
    "an asymmetric version": signed(`v1a,${right}`),
    "a version and nothing": signed("v1,"),
    "many versions and nothing": signed("v1, v1, v1,"),
    "many wrong signatures": signed(
      Array.from({ length: 20 }, (_, n) => `v1,${mac(`${n}`).digest("base64")}`).join(" "),
    ),
    "a signature with SHA-1": signed(`v1,${createHmac("sha1", key).update(content).digest("base64")}`),
    "a signature in hexadecimal": signed(`v1,${mac(content).digest("hex")}`),
    "a signature in base64url": signed(`v1,${mac(content).digest("base64url")}_`),
    "a signature without its padding": signed(`v1,${right.replace(/=+$/, "")}`),
    "a signature with a trailing comma": signed(`v1,${right},`),
    "a signature of the body alone": signed(`v1,${mac(body).digest("base64")}`),
    "a signature without the id": signed(`v1,${mac(`${seconds}.${body}`).digest("base64")}`),
    "a signature with the secret's letters": signed(`v1,${mac(content, vendor.secret).digest("base64")}`),
    "a signature with an empty key": [signed(`v1,${mac(content, "").digest("base64")}`), ["whsec_", "", vendor.secret]],
    "a secret that is no base64": [signed(`v1,${mac(content, "").digest("base64")}`), ["whsec_!!!!", "whsec_===="]],
    "another byte that reads the same": bodied(lossy, Buffer.from('{"a":"\xff"}', "latin1")),
  };
}
