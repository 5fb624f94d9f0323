import { afterAll, beforeEach, expect, jest, test } from "@jest/globals";
import { decodeJwt } from "jose";
import { z } from "zod";
import { signAccessToken } from "../../../lib/security/tokens.js";
import {
  done,
  listOrders,
  logIn,
  openSession,
  readProfile,
  sendLoginCode,
  type Session,
  type Tokens,
} from "../../../scripts/client/src/index.js";
import { closeDatabase } from "../../../sql/db.js";
import { startApi } from "../../support/api.js";
import { newPhone } from "../../support/cast.js";
import { codeOf, times } from "../../support/logins.js";

const api = await startApi();
const baseUrl = api.client.url;

/** The paths that sessions have sent requests to. */
let sent: string[];
/** What happens to the next request to a path that ends so, instead of its answer. */
let faults: Map<string, (answer: Response) => Response>;

const watched: typeof fetch = async (address, init) => {
  const { pathname } = new URL(new Request(address).url);
  sent.push(pathname);
  const answer = await fetch(address, init);
  const fault = faults.get(pathname);
  faults.delete(pathname);
  return fault ? fault(answer) : answer;
};
const countExchanges = () => sent.filter((path) => path.endsWith("/token/refresh")).length;

beforeEach(() => {
  sent = [];
  faults = new Map();
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const Claims = z.object({ sub: z.string(), sid: z.string() });

/** Tokens of a new user, of which the access token has expired. */
async function staleTokens(): Promise<Tokens> {
  const phone = newPhone();
  const anyone = openSession({ baseUrl });
  await done(sendLoginCode({ body: { phone } }, anyone));
  const tokens = await done(logIn({ body: { phone, code: await codeOf(phone) } }, anyone));
  const { sub: userId, sid: sessionId } = Claims.parse(decodeJwt(tokens.accessToken));
  const hourAgo = jest.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
  const accessToken = await signAccessToken({ userId, sessionId, scope: "USER" });
  hourAgo.mockRestore();
  return { ...tokens, accessToken };
}

/** A store, and what was written to it. */
function storeOf(first: Tokens) {
  const written: (Tokens | null)[] = [];
  let last: Tokens | null = first;
  return { written, read: () => last, write: (tokens: Tokens | null) => void written.push((last = tokens)) };
}

/** Runs one work after the other. */
function inTurn() {
  let turn: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };
}

const readAtOnce = (session: Session, count: number) =>
  Promise.all(times(count, (n) => (n % 2 === 0 ? readProfile({}, session) : listOrders({}, session))));

test("20 requests with an expired token exchange it once, and all of them succeed", async () => {
  const store = storeOf(await staleTokens());
  const session = openSession({ baseUrl, store, fetch: watched });
  const answers = await readAtOnce(session, 20);
  expect(answers.map(({ status }) => status)).toEqual(times(20, () => 200));
  expect(countExchanges()).toBe(1);
  expect(store.written).toHaveLength(1);
  expect((await readProfile({}, session)).status).toBe(200);
  expect(countExchanges()).toBe(1);
});

test("two tabs that share a store exchange its tokens once", async () => {
  const store = { ...storeOf(await staleTokens()), alone: inTurn() };
  const tabs = times(2, () => openSession({ baseUrl, store, fetch: watched }));
  const answers = await Promise.all(tabs.map((tab) => readAtOnce(tab, 5)));
  expect(answers.flat().map(({ status }) => status)).toEqual(times(10, () => 200));
  expect(countExchanges()).toBe(1);
});

test("an exchange whose answer is lost is repeated", async () => {
  const store = storeOf(await staleTokens());
  faults.set("/api/v1/auth/token/refresh", () => {
    throw new TypeError("fetch failed");
  });
  expect((await readProfile({}, openSession({ baseUrl, store, fetch: watched }))).status).toBe(200);
  expect(countExchanges()).toBe(2);
});

test("a refused exchange ends the session: the store is emptied, and the request's refusal is the answer", async () => {
  const store = storeOf({ ...(await staleTokens()), refreshToken: "unknown" });
  const session = openSession({ baseUrl, store, fetch: watched });
  const answer = await readProfile({}, session);
  expect(answer.status === 401 && answer.data.reason).toBe("TOKEN_EXPIRED");
  expect(store.written).toEqual([null]);
  const next = await readProfile({}, session);
  expect(next.status === 401 && next.data.reason).toBe("TOKEN_MISSING");
  expect(countExchanges()).toBe(1);
});

test("an API that cannot exchange tokens for the moment ends no session", async () => {
  const store = storeOf(await staleTokens());
  const busy = () => Response.json({ reason: "DATABASE_UNREACHABLE", detail: "later" }, { status: 503 });
  const session = openSession({
    baseUrl,
    store,
    fetch: (address, init) =>
      new Request(address).url.endsWith("/refresh") ? Promise.resolve(busy()) : watched(address, init),
  });
  await expect(readProfile({}, session)).rejects.toMatchObject({ name: "Refused", status: 503 });
  expect(store.written).toEqual([]);
});

test("tokens are sent to the API only, and not to its logins", async () => {
  const store = storeOf(await staleTokens());
  const tokens: unknown[] = [];
  const session = openSession({
    baseUrl: `${baseUrl}/`,
    store,
    fetch: (_address, init) => {
      tokens.push(new Headers(init?.headers).get("authorization"));
      return Promise.resolve(Response.json({}));
    },
  });
  const own = `Bearer ${store.read()?.accessToken ?? ""}`;
  await readProfile({}, session);
  await readProfile({}, { ...session, headers: { authorization: "Bearer service" } });
  await sendLoginCode({ body: { phone: newPhone() } }, session);
  await session.fetch(`${baseUrl}.example.com/api/v1/users/me`);
  await session.fetch("https://storage.example.com/api/v1/part");
  expect(tokens).toEqual([own, "Bearer service", null, null, null]);
});
