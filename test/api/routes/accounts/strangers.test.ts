import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";

process.env["TRUST_PROXY"] = "1";
process.env["OTP_SENDS_PER_PHONE"] = "4";
process.env["OTP_GUESSES_PER_ADDRESS"] = "12";

const { newPhone } = await import("../../../support/cast.js");
const { outcome } = await import("../../../support/api.js");
const { age, codeOf, startLogins, tally, times, wrong } = await import("../../../support/logins.js");
const { countBlocked, lockRows } = await import("../../../support/locks.js");
const { until } = await import("../../../support/until.js");
const { registry } = await import("../../../../api/http/registry.js");
const { storedClient } = await import("../../../../api/http/client-network.js");
const { closeBroker } = await import("../../../../queues/broker.js");
const { closeDatabase, sql } = await import("../../../../sql/db.js");

const { stop, send, verify, logout, newCode, logIn } = await startLogins();

const home = "198.51.100.7";
const elsewhere = "203.0.113.7";

afterAll(async () => {
  await stop();
  // the metrics have opened it
  await closeBroker();
  await closeDatabase();
});

beforeEach(() => sql`delete from action_counts`);

/** Opens and ends a session with a new phone; returns the phone, and the token that its device keeps. */
async function formerLogin() {
  const phone = newPhone();
  const refreshToken = (await logIn(phone)).string("refreshToken");
  expect(outcome(await logout(refreshToken))).toBe("204");
  return { phone, refreshToken };
}

/** Guesses wrong at a phone's code from other addresses until it is guarded. */
async function guard(phone: string): Promise<void> {
  const code = await newCode(phone, elsewhere);
  const replies = await Promise.all(times(60, (n) => verify(phone, wrong(code), `10.1.0.${n}`)));
  expect(tally(replies)).toEqual({ "400 INVALID_CODE": 50, "429 RATE_LIMIT": 10 });
}

describe("wrong guesses", () => {
  test("from one address do not void the code for another", async () => {
    const phone = newPhone();
    const code = await newCode(phone, home);
    await Promise.all(times(20, () => verify(phone, wrong(code), elsewhere)));
    expect(outcome(await verify(phone, code, elsewhere))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, code, home))).toBe("200");
  });

  test("from an IPv6 customer's network count together", async () => {
    const phone = newPhone();
    const code = await newCode(phone, home);
    for (let n = 0; n < 5; n += 1) await verify(phone, wrong(code), `2001:db8:0:${n}::1`);
    expect(outcome(await verify(phone, code, "2001:db8:0:9::1"))).toBe("400 INVALID_CODE");
  });

  test("50 a day leave a code one guess from the address that requested it, and from two others", async () => {
    const phone = newPhone();
    await guard(phone);
    const code = await newCode(phone, home);
    const replies = await Promise.all(times(10, (n) => verify(phone, wrong(code), `10.2.0.${n}`)));
    expect(tally(replies)).toEqual({ "400 INVALID_CODE": 2, "429 RATE_LIMIT": 8 });
    for (const { status, body } of replies)
      if (status === 429) expect(body["retryAfterSeconds"]).toBeLessThanOrEqual(300);
    expect(outcome(await verify(phone, wrong(code), home))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, code, home))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, await newCode(phone, home), home))).toBe("200");
  });

  test("50 a day do not lock the phone, also for an address that did not request the code; a day later they do not count", async () => {
    const phone = newPhone();
    await guard(phone);
    expect(outcome(await verify(phone, await newCode(phone, elsewhere), home))).toBe("200");

    await age(phone, "1 day");
    const next = await newCode(phone, home);
    expect(outcome(await verify(phone, wrong(next), elsewhere))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, next, elsewhere))).toBe("200");
  });

  test("of strangers, at its address too, do not concern a device that logged in before", async () => {
    const { phone, refreshToken } = await formerLogin();
    await guard(phone);
    const code = await codeOf(phone);
    await sql`insert into action_counts (action, times, ends_at) values (${`guess from ${storedClient(home)}`}, 12, now() + interval '1 hour')`;
    expect(outcome(await verify(phone, code, home))).toBe("429 RATE_LIMIT");
    expect(outcome(await verify(phone, wrong(code), home, { refreshToken }))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, code, home, { refreshToken }))).toBe("200");
  });

  test("of a device that logged in before are limited too", async () => {
    const { phone, refreshToken } = await formerLogin();
    const code = await newCode(phone);
    const replies = await Promise.all(times(8, () => verify(phone, wrong(code), home, { refreshToken })));
    expect(tally(replies)).toEqual({ "400 INVALID_CODE": 8 });
    expect(outcome(await verify(phone, code, elsewhere, { refreshToken }))).toBe("400 INVALID_CODE");
    await sql`update action_counts set times = 50 where action like 'guess from session %'`;
    const locked = await verify(phone, await newCode(phone), home, { refreshToken });
    expect(outcome(locked)).toBe("429 RATE_LIMIT");
    expect(locked.body["retryAfterSeconds"]).toBeGreaterThan(80_000);
  });

  test("another phone's token, an unknown one and that of a deleted account are no earlier login", async () => {
    const [{ phone }, other] = [await formerLogin(), await formerLogin()];
    await guard(phone);
    const code = await codeOf(phone);
    for (const refreshToken of [other.refreshToken, "unknown"])
      expect(outcome(await verify(phone, code, home, { refreshToken }))).toBe("429 RATE_LIMIT");
    await guard(other.phone);
    await sql`update users set deleted_at = now() where phone = ${other.phone}`;
    const { refreshToken } = other;
    expect(outcome(await verify(other.phone, await codeOf(other.phone), home, { refreshToken }))).toBe(
      "429 RATE_LIMIT",
    );
  });

  test("at many phones are limited per address, and correct ones do not count", async () => {
    const guessAt = async (right: boolean, address: string) => {
      const phone = newPhone();
      const code = await newCode(phone);
      return verify(phone, right ? code : wrong(code), address);
    };
    expect(tally(await Promise.all(times(20, () => guessAt(true, home))))).toEqual({ "200": 20 });
    const replies = await Promise.all(times(20, () => guessAt(false, home)));
    expect(tally(replies)).toEqual({ "400 INVALID_CODE": 12, "429 RATE_LIMIT": 8 });
    for (const { status, body } of replies)
      if (status === 429) expect(body["retryAfterSeconds"]).toBeLessThanOrEqual(900);
    expect(outcome(await guessAt(true, home))).toBe("429 RATE_LIMIT");
    expect(outcome(await guessAt(true, elsewhere))).toBe("200");
    await sql`update action_counts set ends_at = ends_at - interval '15 minutes'`;
    expect(outcome(await guessAt(true, home))).toBe("200");
  });

  test("at phones without a code do not count", async () => {
    expect(tally(await Promise.all(times(20, () => verify(newPhone(), "123456", home))))).toEqual({
      "400 INVALID_CODE": 20,
    });
  });
});

describe("codes to one phone", () => {
  test("after the limit of a day, there is one each half an hour", async () => {
    const phone = newPhone();
    for (let n = 0; n < 3; n += 1) {
      expect(outcome(await send(phone))).toBe("200");
      await age(phone, "2 hours");
    }
    const last = await send(phone);
    expect(last.body["retryAfterSeconds"]).toBe(1_800);
    await age(phone, "29 minutes");
    const refused = await send(phone);
    expect(outcome(refused)).toBe("429 RATE_LIMIT");
    expect(refused.body["retryAfterSeconds"]).toBeLessThanOrEqual(60);
    await age(phone, "2 minutes");
    expect(tally(await Promise.all(times(5, () => send(phone))))).toEqual({ "200": 1, "429 RATE_LIMIT": 4 });
    await age(phone, "1 day");
    expect((await send(phone)).body["retryAfterSeconds"]).toBe(60);
  });

  test("a device that logged in before does not wait for that, and leaves the limit to strangers as it is", async () => {
    const { phone, refreshToken } = await formerLogin();
    for (let n = 0; n < 3; n += 1) {
      await age(phone, "1 hour");
      expect(outcome(await send(phone))).toBe("200");
    }
    await age(phone, "10 minutes");
    expect(outcome(await send(phone))).toBe("429 RATE_LIMIT");
    const replies = await Promise.all(times(5, () => send(phone, home, { refreshToken })));
    expect(tally(replies)).toEqual({ "200": 3, "429 RATE_LIMIT": 2 });
    expect(Math.max(...replies.map(({ body }) => Number(body["retryAfterSeconds"])))).toBeLessThanOrEqual(300);
    await age(phone, "10 minutes");
    expect(outcome(await send(phone))).toBe("429 RATE_LIMIT");
  });
});

describe("the holder of a phone whose codes strangers request, and guess at", () => {
  /** Strangers request a code and use up its guesses; returns it. */
  async function codeOfStrangers(phone: string): Promise<string> {
    await age(phone, "4 minutes");
    const code = await newCode(phone, elsewhere);
    const replies = await Promise.all(times(4, (n) => verify(phone, wrong(code), `10.3.0.${n}`)));
    expect(tally(replies)).toEqual({ "400 INVALID_CODE": 2, "429 RATE_LIMIT": 2 });
    return code;
  }

  test("logs in on a new device with a code that a stranger requested, after a refusal of another", async () => {
    const phone = newPhone();
    const codes = [];
    for (let n = 0; n < 3; n += 1) codes.push(await newCode(phone, elsewhere));
    const refused = await send(phone, home);
    expect(outcome(refused)).toBe("429 RATE_LIMIT");
    expect(refused.body["reason"]).toBe("TOO_MANY_CODES");
    expect(outcome(await verify(phone, codes[2]!, home))).toBe("200");
  });

  test("logs in on a new device with the second code that they enter, when strangers leave no guess of either", async () => {
    const phone = newPhone();
    await guard(phone);
    expect(outcome(await verify(phone, await codeOfStrangers(phone), home))).toBe("429 RATE_LIMIT");
    expect(outcome(await verify(phone, await codeOfStrangers(phone), home))).toBe("200");
  });

  test("gets no answer that reveals whether the first code was right, and it does not become valid", async () => {
    const phone = newPhone();
    await guard(phone);
    const code = await codeOfStrangers(phone);
    const answer = async (guess: string, address: string) => {
      const { status, body } = await verify(phone, guess, address);
      return [status, { ...body, requestId: null, retryAfterSeconds: null, detail: null }];
    };
    const right = await answer(code, home);
    expect(right).toEqual(await answer(wrong(code), "192.0.2.9"));
    expect(await answer(code, home)).toEqual(right);
  });

  test("is the only one: one guess of the first code counts from each address, and a wrong one gives nothing", async () => {
    const phone = newPhone();
    await guard(phone);
    const first = await codeOfStrangers(phone);
    for (const guess of [wrong(first), first]) await verify(phone, guess, "192.0.2.9");
    const second = await codeOfStrangers(phone);
    for (const guess of [wrong(second), second])
      expect(outcome(await verify(phone, guess, "192.0.2.9"))).toBe("429 RATE_LIMIT");
  });

  test("has one guess of the second code", async () => {
    const phone = newPhone();
    await guard(phone);
    await verify(phone, await codeOfStrangers(phone), home);
    const second = await codeOfStrangers(phone);
    expect(outcome(await verify(phone, wrong(second), home))).toBe("400 INVALID_CODE");
    expect(outcome(await verify(phone, second, home))).toBe("400 INVALID_CODE");
  });
});

test("a code for a phone whose login takes long does not delay codes for others", async () => {
  const phone = newPhone();
  await newCode(phone, elsewhere);
  const release = await lockRows((tx) => tx`select from otp where phone = ${phone} for update`);
  const delayed = send(phone, elsewhere);
  await until(async () => (await countBlocked()) === 1);
  expect(outcome(await send(newPhone(), home))).toBe("200");
  await release();
  expect(outcome(await delayed)).toBe("200");
});

test("no client's address is stored", async () => {
  const phone = newPhone();
  const code = await newCode(phone, home);
  await verify(phone, wrong(code), elsewhere);
  const stored = await sql<{ row: string }[]>`
    select counts::text as row from action_counts counts union all select otp::text from otp where phone = ${phone}`;
  expect(stored).toHaveLength(4);
  for (const { row } of stored) for (const address of [home, elsewhere]) expect(row).not.toContain(address);
});

test("metrics count the codes and the guesses of all", async () => {
  const counts = async () =>
    Object.fromEntries(
      [...(await registry.metrics()).matchAll(/^(login_\w+)\{outcome="(\w+)"\} (\d+)$/gm)].map(
        ([, name, label, count]) => [`${name} ${label}`, Number(count)],
      ),
    );
  const before = await counts();
  const phone = newPhone();
  const code = await newCode(phone, home);
  await verify(phone, wrong(code), home);
  await verify(phone, code, home);
  await verify(phone, code, home);
  for (let n = 0; n < 3; n += 1) await send(phone);
  const after = await counts();
  const grown = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]);
  expect(Object.fromEntries(grown)).toEqual({
    "login_codes_total sent": 3,
    "login_codes_total refused": 1,
    "login_guesses_total right": 1,
    "login_guesses_total wrong": 1,
    "login_guesses_total void": 1,
    "login_guesses_total refused": 0,
  });
});
