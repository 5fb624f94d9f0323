import { createHash, randomUUID } from "node:crypto";
import type { startIiko } from "../iiko.js";
import { received } from "../pull.js";
import { bodied, type Forgeries, headerForgeries, others, secretForgeries, without } from "./forgery.js";

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
    "another token": carrying(`Bearer ${randomUUID()}`),
    "a token in quotes": carrying(`Bearer "${vendor.secret}"`),
    "the token as a password": carrying(`Basic ${Buffer.from(`user:${vendor.secret}`).toString("base64")}`),
    "a token in base64": carrying(`Bearer ${Buffer.from(vendor.secret).toString("base64")}`),
    "a digest of the token": carrying(`Bearer ${createHash("sha256").update(vendor.secret).digest("hex")}`),
    "the token in another header": others(without(call, "authorization"), { "x-auth-token": vendor.secret }),
    "the token in the body": bodied(without(call, "authorization"), JSON.stringify([{ authToken: vendor.secret }])),
    "a part of the token": carrying(vendor.secret.slice(5)),
  };
}
