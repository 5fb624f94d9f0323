import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { accessTokenSeconds, signAccessToken } from "../../../lib/security/tokens.js";
import { closeDatabase } from "../../../sql/db.js";
import { startApi, type Client } from "../../support/api.js";
import { user } from "../../support/cast.js";
import { neverFaked } from "../../support/clock.js";

let api: Awaited<ReturnType<typeof startApi>>;
let client: Client;

beforeAll(async () => {
  api = await startApi();
  client = api.client;
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

describe("a refused credential names the expected scheme, and what is wrong with the token:", () => {
  const challenge = async (caller: Client) => {
    const { status, body, headers } = await caller.get("/api/v1/users/me");
    return [status, body["code"], body["reason"], headers.get("www-authenticate")];
  };
  const refusedFor = (reason: string, detail: string) => [
    401,
    "UNAUTHORIZED",
    reason,
    `Bearer error="invalid_token", error_description="${detail}"`,
  ];

  test("no token", async () => {
    expect(await challenge(client)).toEqual([401, "UNAUTHORIZED", "TOKEN_MISSING", "Bearer"]);
  });

  test.each(["", "x", "a.b.c", "two words"])("a malformed token: %j", async (token) => {
    expect(await challenge(client.as(token))).toEqual(
      refusedFor("TOKEN_INVALID", "The access token is malformed, or not one of this service."),
    );
  });

  test("an expired token", async () => {
    const { id } = await user(client);
    const past = Date.now() - accessTokenSeconds * 1_000;
    jest.useFakeTimers({ now: past, doNotFake: [...neverFaked] });
    const token = await signAccessToken({ userId: id, scope: "USER" });
    jest.useRealTimers();
    expect(await challenge(client.as(token))).toEqual(refusedFor("TOKEN_EXPIRED", "The access token has expired."));
  });

  test("a session that has ended", async () => {
    const gone = await user(client);
    await gone.client.delete("/api/v1/users/me");
    expect(await challenge(gone.client)).toEqual(
      refusedFor("SESSION_ENDED", "This account no longer exists, or this session has ended."),
    );
  });

  test("a refused login names the scheme alone", async () => {
    const { headers } = await client.post("/api/v1/auth/token/refresh", { refreshToken: "x" });
    expect(headers.get("www-authenticate")).toBe("Bearer");
  });
});
