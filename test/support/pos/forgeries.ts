import { createHash, createHmac } from "node:crypto";
import type { WebhookCall } from "../../../lib/pos/adapter.js";
import { newWebhookSecret, type startGenericPos } from "./generic.js";
import type { startIiko } from "./iiko.js";
import type { startPoster } from "./poster.js";
import { received } from "./pull.js";
import type { startSquare } from "./square.js";

const others = (call: WebhookCall, headers: WebhookCall["headers"]): WebhookCall => ({
  ...call,
  headers: { ...call.headers, ...headers },
});
const without = (call: WebhookCall, name: string): WebhookCall => others(call, { [name]: undefined });
const spaced = (call: WebhookCall) => Buffer.from(JSON.stringify(JSON.parse(call.body.toString()), null, 1));
const bodied = (call: WebhookCall, body: Buffer | string): WebhookCall => ({ ...call, body: Buffer.from(body) });

/** Forged calls by what is wrong with them; they use the deployment's secrets unless others are given. */
export type Forgeries = Record<string, WebhookCall | [call: WebhookCall, secrets: string[]]>;

function headerForgeries(call: WebhookCall, name: string): Forgeries {
  const value = String(call.headers[name]);
  return {
    [`no ${name}`]: without(call, name),
    [`an empty ${name}`]: others(call, { [name]: "" }),
    [`a blank ${name}`]: others(call, { [name]: " " }),
    [`${name} as a list`]: others(call, { [name]: [value] }),
    [`${name} truncated`]: others(call, { [name]: value.slice(0, -1) }),
    [`${name} too long`]: others(call, { [name]: `${value}x` }),
    [`${name} in capitals`]: others(call, { [name]: `${value.toUpperCase()} ` }),
  };
}

function bodyForgeries(call: WebhookCall): Forgeries {
  const text = call.body.toString();
  return {
    "a body with other whitespace": bodied(call, spaced(call)),
    "a body with a trailing space": bodied(call, `${text} `),
    "a body with a byte order mark": bodied(call, `\ufeff${text}`),
    "a body truncated": bodied(call, text.slice(0, -1)),
    "no body": bodied(call, ""),
    "another body": bodied(
      call,
      text.replace(/[0-9a-f]/, (one) => (one === "1" ? "2" : "1")),
    ),
  };
}

const secretForgeries = (call: WebhookCall, another: string): Forgeries => ({
  "no secret": [call, []],
  "an empty secret": [call, [""]],
  "another account's secret": [call, [another]],
  "a former secret": [call, [another, `${another}x`]],
});

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

export function forgeriesOfPoster(vendor: Awaited<ReturnType<typeof startPoster>>): Forgeries {
  const event = vendor.event({ data: '{"a":1}' });
  const call = received(vendor.sign(event));
  const fields = JSON.parse(call.body.toString()) as Record<string, unknown>;
  const changed = (other: Record<string, unknown>) => bodied(call, JSON.stringify({ ...fields, ...other }));
  const { verify } = fields;
  const bare = JSON.parse(vendor.sign(vendor.event()).body) as Record<string, unknown>;
  return {
    ...secretForgeries(call, "application-secret-of-another"),
    "signed with an empty secret": [received(vendor.sign(event, "")), ["", vendor.secret]],
    "signed with an old secret": received(vendor.sign(event, "an old secret")),
    "no signature": changed({ verify: undefined }),
    "an empty signature": changed({ verify: "" }),
    "a signature that is null": changed({ verify: null }),
    "a signature that is true": changed({ verify: true }),
    "a signature in a list": changed({ verify: [verify] }),
    "a signature truncated": changed({ verify: String(verify).slice(0, -1) }),
    "a signature that is too long": changed({ verify: `${String(verify)}0` }),
    "a signature in capitals": changed({ verify: String(verify).toUpperCase() }),
    "a signature in base64": changed({ verify: Buffer.from(String(verify), "hex").toString("base64") }),
    "a signature with SHA-256": changed({ verify: createHash("sha256").update(vendor.secret).digest("hex") }),
    "another account": changed({ account: "another" }),
    "another object": changed({ object: "dish" }),
    "another object's id": changed({ object_id: 140 }),
    "another action": changed({ action: "removed" }),
    "another time": changed({ time: "1" }),
    "other data": changed({ data: '{"a":2}' }),
    "data with other whitespace": changed({ data: '{"a": 1}' }),
    "data that is not text": changed({ data: { a: 1 } }),
    "no data": changed({ data: undefined }),
    "data that was not signed": bodied(call, JSON.stringify({ ...bare, data: "" })),
    "an account that reaches into the object": changed({ account: `${vendor.account};product`, object: "139" }),
    "data that reaches into the time": bodied(
      call,
      JSON.stringify({ ...bare, action: "changed;1", time: bare["time"] }),
    ),
    "an action that reaches into the data": changed({ action: 'changed;{"a":1}', data: undefined }),
    "a time that reaches back into the data": changed({ data: undefined, time: `{"a":1};${String(fields["time"])}` }),
    "a body truncated": bodied(call, call.body.subarray(0, -1)),
    "no body": bodied(call, ""),
    "a list": bodied(call, `[${call.body.toString()}]`),
  };
}

export function forgeriesOfIiko(vendor: Awaited<ReturnType<typeof startIiko>>): Forgeries {
  const call = received(vendor.sign());
  const carrying = (authorization: string | string[]) => others(call, { authorization });
  return {
    ...headerForgeries(call, "authorization"),
    ...secretForgeries(call, "auth-of-another"),
    "a scheme and no token": [carrying("Bearer "), [vendor.secret, ""]],
    "a scheme alone": [carrying("Bearer"), [vendor.secret, ""]],
    "two schemes": carrying(`Bearer Bearer ${vendor.secret}`),
    "another scheme": carrying(`Basic ${vendor.secret}`),
    "a token in base64": carrying(`Bearer ${Buffer.from(vendor.secret).toString("base64")}`),
    "a digest of the token": carrying(`Bearer ${createHash("sha256").update(vendor.secret).digest("hex")}`),
    "the token in another header": others(without(call, "authorization"), { "x-auth-token": vendor.secret }),
    "the token in the body": bodied(without(call, "authorization"), JSON.stringify([{ authToken: vendor.secret }])),
    "a part of the token": carrying(vendor.secret.slice(5)),
  };
}

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
