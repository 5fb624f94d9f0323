import { createHash } from "node:crypto";
import type { startPoster } from "../poster.js";
import { received } from "../pull.js";
import { bodied, type Forgeries, secretForgeries } from "./forgery.js";

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
    "a signature without a secret": changed({
      verify: createHash("md5")
        .update([fields["account"], "product", 139, "changed", fields["time"]].join(";"))
        .digest("hex"),
    }),
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
    "an object that reaches into its action": changed({
      object: "product;139",
      object_id: "changed",
      action: '{"a":1}',
      data: undefined,
    }),
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
