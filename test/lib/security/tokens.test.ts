import { createHmac, createPrivateKey, generateKeyPairSync, randomUUID } from "node:crypto";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { decodeJwt, decodeProtectedHeader, SignJWT, type JWTHeaderParameters } from "jose";
import { z } from "zod";
import { newSigningKey } from "../../../lib/process/keys.js";
import { neverFaked } from "../../support/clock.js";

const userId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";
const origin = "https://api.example.com";
const Jwk = z.looseObject({ x: z.string(), d: z.string(), kid: z.string() });
const newKey = () => z.tuple([Jwk]).parse(JSON.parse(newSigningKey()))[0];

const signing = newKey();
const retiring = newKey();
const stranger = newKey();
const elliptic = Jwk.parse({
  ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
  kid: "elliptic",
});

process.env["PUBLIC_URL"] = origin;

/** Imports the module with these keys. */
async function tokensWith(...jwks: object[]) {
  process.env["SIGNING_KEYS"] = JSON.stringify(jwks);
  jest.resetModules();
  return import("../../../lib/security/tokens.js");
}

const { signAccessToken, verifyAccessToken, publicKeys } = await tokensWith(signing, elliptic);

interface Forgery {
  key?: Parameters<typeof createPrivateKey>[0];
  header?: Partial<JWTHeaderParameters>;
  claims?: Record<string, unknown>;
}

/** A token that is valid except for these changes. */
function forge({ key = { key: signing, format: "jwk" }, header, claims }: Forgery = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const payload = {
    iss: origin,
    aud: `${origin}/api/v1`,
    sub: userId,
    scope: "USER",
    jti: randomUUID(),
    iat: now,
    exp: now + 900,
    ...claims,
  };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: "EdDSA", kid: signing.kid, typ: "at+jwt", ...header })
    .sign(createPrivateKey(key));
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

afterEach(() => {
  jest.useRealTimers();
});

describe("an access token", () => {
  test("names its user, for 900 seconds", async () => {
    const token = await signAccessToken({ userId, scope: "USER PARTNER", partnerId: userId });
    expect(decodeProtectedHeader(token)).toEqual({ alg: "EdDSA", kid: signing.kid, typ: "at+jwt" });
    const { iat = 0, ...claims } = decodeJwt(token);
    expect(claims).toEqual({
      iss: origin,
      aud: `${origin}/api/v1`,
      sub: userId,
      scope: "USER PARTNER",
      partnerId: userId,
      jti: expect.any(String),
      exp: iat + 900,
    });
    expect(await verifyAccessToken(token)).toEqual({
      userId,
      scope: "USER PARTNER",
      partnerId: userId,
      expiresAt: (iat + 900) * 1_000,
    });
  });

  test("expires even for a user who has just used it", async () => {
    const token = await signAccessToken({ userId, scope: "USER" });
    expect(await verifyAccessToken(token)).not.toBeNull();
    jest.useFakeTimers({ now: Date.now() + 900_000, doNotFake: [...neverFaked] });
    expect(await verifyAccessToken(token)).toBe("EXPIRED");
    expect(await verifyAccessToken(token)).toBe("EXPIRED");
  });

  test("stays valid after a change of the signing key, until its key is removed", async () => {
    const before = await tokensWith(retiring);
    const token = await before.signAccessToken({ userId, scope: "USER" });
    const during = await tokensWith(signing, retiring);
    expect(await during.verifyAccessToken(token)).not.toBeNull();
    expect(decodeProtectedHeader(await during.signAccessToken({ userId, scope: "USER" })).kid).toBe(signing.kid);
    const after = await tokensWith(signing);
    expect(await after.verifyAccessToken(token)).toBeNull();
  });

  test("may be signed by a P-256 key", async () => {
    const { signAccessToken: sign, verifyAccessToken: verify } = await tokensWith(elliptic);
    const token = await sign({ userId, scope: "USER" });
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: "ES256", kid: "elliptic" });
    expect(await verify(token)).toMatchObject({ userId });
  });

  test("is verified with the published keys", () => {
    const { keys } = publicKeys();
    expect(keys.map(({ kid, alg }) => ({ kid, alg }))).toEqual([
      { kid: signing.kid, alg: "EdDSA" },
      { kid: "elliptic", alg: "ES256" },
    ]);
    for (const key of keys) expect(key).not.toHaveProperty("d");
  });
});

const past = Math.floor(Date.now() / 1_000) - 1;

test("only a token of this API is called expired", async () => {
  expect(await verifyAccessToken(await forge({ claims: { exp: past } }))).toBe("EXPIRED");
  expect(await verifyAccessToken(await forge({ claims: { exp: past, aud: "https://evil.example.com" } }))).toBeNull();
  const unsigned = (await forge({ claims: { exp: past } })).replace(/[^.]+$/, "AAAA");
  expect(await verifyAccessToken(unsigned)).toBeNull();
});

describe("a forged token is refused:", () => {
  test("an unchanged token is accepted, so each forgery fails for its own reason", async () => {
    expect(await verifyAccessToken(await forge())).toMatchObject({ userId });
  });

  test.each<[string, Forgery]>([
    ["another key under the service's kid", { key: { key: stranger, format: "jwk" } }],
    ["another key under its own kid", { key: { key: stranger, format: "jwk" }, header: { kid: stranger.kid } }],
    ["the service's key under an unknown kid", { header: { kid: "unknown" } }],
    ["one of the service's keys under another's kid", { header: { kid: "elliptic" } }],
    [
      "an elliptic key under the kid of the Ed25519 key",
      { key: { key: elliptic, format: "jwk" }, header: { alg: "ES256" } },
    ],
    [
      "a key in the token's header",
      { key: { key: stranger, format: "jwk" }, header: { jwk: { kty: "OKP", crv: "Ed25519", x: stranger.x } } },
    ],
    [
      "a URL of keys",
      {
        key: { key: stranger, format: "jwk" },
        header: { jku: "https://evil.example.com/jwks.json", kid: stranger.kid },
      },
    ],
    [
      "a URL of certificates",
      {
        key: { key: stranger, format: "jwk" },
        header: { x5u: "https://evil.example.com/cert.pem", kid: stranger.kid },
      },
    ],
    ["another typ", { header: { typ: "JWT" } }],
    ["another issuer", { claims: { iss: "https://evil.example.com" } }],
    ["another audience", { claims: { aud: "https://evil.example.com" } }],
    ["no audience", { claims: { aud: undefined } }],
    ["no expiry", { claims: { exp: undefined } }],
    ["not yet valid", { claims: { nbf: Math.floor(Date.now() / 1_000) + 600 } }],
    ["no subject", { claims: { sub: undefined } }],
    ["a subject that is not a user id", { claims: { sub: "admin" } }],
    ["no scope", { claims: { scope: undefined } }],
  ])("%s", async (_name, forgery) => {
    expect(await verifyAccessToken(await forge(forgery))).toBeNull();
  });

  test("no kid", async () => {
    const token = await new SignJWT(decodeJwt(await forge()))
      .setProtectedHeader({ alg: "EdDSA", typ: "at+jwt" })
      .sign(createPrivateKey({ key: signing, format: "jwk" }));
    expect(await verifyAccessToken(token)).toBeNull();
  });

  test.each(["none", "None", "NONE", "nOnE"])("alg %s", async (alg) => {
    const [, payload = "", signature = ""] = (await forge()).split(".");
    const header = encode({ alg, kid: signing.kid, typ: "at+jwt" });
    expect(await verifyAccessToken(`${header}.${payload}.`)).toBeNull();
    expect(await verifyAccessToken(`${header}.${payload}.${signature}`)).toBeNull();
  });

  test.each([
    ["raw", Buffer.from(signing.x, "base64url")],
    ["as text", Buffer.from(signing.x)],
    ["as JWK", Buffer.from(JSON.stringify(publicKeys().keys[0]))],
    ["empty", Buffer.alloc(0)],
  ])("HS256 with the public key as its secret, %s", async (_name, secret) => {
    const [, payload = ""] = (await forge()).split(".");
    for (const alg of ["HS256", "EdDSA"]) {
      const content = `${encode({ alg, kid: signing.kid, typ: "at+jwt" })}.${payload}`;
      const signature = createHmac("sha256", secret).update(content).digest("base64url");
      expect(await verifyAccessToken(`${content}.${signature}`)).toBeNull();
    }
  });

  test("a changed payload or signature", async () => {
    const [header = "", payload = "", signature = ""] = (await forge()).split(".");
    const claims = encode({ ...decodeJwt(`${header}.${payload}.${signature}`), scope: "USER ADMIN" });
    expect(await verifyAccessToken(`${header}.${claims}.${signature}`)).toBeNull();
    expect(
      await verifyAccessToken(`${header}.${payload}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`),
    ).toBeNull();
    expect(await verifyAccessToken(`${header}.${payload}.`)).toBeNull();
  });

  test.each(["", ".", "..", "...", "a.b.c", "undefined", "\u0000", "{}", "€.€.€"])("%j", async (text) => {
    expect(await verifyAccessToken(text)).toBeNull();
  });
});

describe("a refresh token", () => {
  test("has one successor per set of keys, which does not reveal the token", async () => {
    const { newRefreshToken, refreshTokenSuccessors } = await tokensWith(signing);
    const token = newRefreshToken();
    const [successor = ""] = refreshTokenSuccessors(token);
    expect(refreshTokenSuccessors(token)).toEqual([successor]);
    expect(successor).not.toBe(token);
    expect(Buffer.from(successor, "base64url")).toHaveLength(32);
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
  });
});
