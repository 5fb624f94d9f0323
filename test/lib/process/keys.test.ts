import { generateKeyPairSync, randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { readConfig } from "../../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey, parseCredentialsKeys, parseSigningKeys } from "../../../lib/process/keys.js";

const Jwks = z.array(z.record(z.string(), z.string()));
const [fresh = {}] = Jwks.parse(JSON.parse(newSigningKey()));
const p256 = { ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), kid: "ec" };
const p384 = { ...generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ format: "jwk" }), kid: "ec" };
const without = (name: string) => Object.fromEntries(Object.entries(fresh).filter(([key]) => key !== name));

describe("signing keys", () => {
  test("are read back, and their public half has no secret", () => {
    const [key] = parseSigningKeys(newSigningKey()) ?? [];
    expect(key).toMatchObject({
      alg: "EdDSA",
      publicJwk: { kty: "OKP", crv: "Ed25519", use: "sig", alg: "EdDSA", kid: key?.kid },
    });
    expect(key?.publicJwk).not.toHaveProperty("d");
  });

  test("on P-256 use ES256", () => {
    expect(parseSigningKeys(JSON.stringify([p256, fresh]))?.map(({ alg }) => alg)).toEqual(["ES256", "EdDSA"]);
  });

  test.each([
    ["invalid JSON", "secret"],
    ["JSON without an array", JSON.stringify(fresh)],
    ["no keys", "[]"],
    ["no kid", JSON.stringify([without("kid")])],
    ["a public key", JSON.stringify([without("d")])],
    ["a broken key", JSON.stringify([{ ...fresh, d: "AAAA" }])],
    ["the same kid twice", JSON.stringify([fresh, fresh])],
    ["another curve", JSON.stringify([p384])],
    ["another algorithm", JSON.stringify([{ ...fresh, alg: "HS256" }])],
  ])("with %s are refused", (_name, value) => {
    expect(parseSigningKeys(value)).toBeNull();
  });
});

describe("credentials keys", () => {
  test("are read back", () => {
    expect(parseCredentialsKeys(newCredentialsKey())).toEqual([{ id: expect.any(String), key: expect.any(Buffer) }]);
  });

  test("keep their order", () => {
    const value = ["b", "a"].map((id) => `${id}:${randomBytes(32).toString("base64")}`).join(", ");
    expect(parseCredentialsKeys(value)?.map(({ id }) => id)).toEqual(["b", "a"]);
  });

  test.each([
    ["no id", randomBytes(32).toString("base64")],
    ["too short a key", `a:${randomBytes(31).toString("base64")}`],
    ["no key", "a:"],
    ["the same id twice", `a:${randomBytes(32).toString("base64")},a:${randomBytes(32).toString("base64")}`],
    ["a trailing comma", `a:${randomBytes(32).toString("base64")},`],
  ])("with %s are refused", (_name, value) => {
    expect(parseCredentialsKeys(value)).toBeNull();
  });
});

test("an invalid key is a configuration error that names the variable and shows no value", () => {
  const read = () =>
    readConfig({ DATABASE_URL: "postgres://localhost/test", SIGNING_KEYS: "[1]", CREDENTIALS_KEYS: "k:hunter2" });
  expect(read).toThrow(/^Wrong configuration:\n {2}SIGNING_KEYS must be [^\n]*\n {2}CREDENTIALS_KEYS must be [^\n]*$/);
  expect(read).not.toThrow("hunter2");
});
