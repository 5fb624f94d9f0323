import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Bulkhead, Busy, SHARES_OF_OTHERS, type Place } from "../../../lib/outbound/bulkhead.js";

const SLOTS = 20;
/** What calls may take of them. */
const shares = { known: 15, others: 10, unproven: 5, one: 3 };
const PROMPT_MS = 5_000;
const LONGEST_WAIT_MS = 150_000;

const isKnown = (origin: string) => origin.startsWith("known");
const newBulkhead = () => new Bulkhead(SLOTS, isKnown);

/** Takes a place that must be there. */
function enter(bulkhead: Bulkhead, origin: string, owner: string, now: number): Place {
  const place = bulkhead.enter({ origin, owner }, now);
  if (place instanceof Busy) throw new Error(`${origin} has no place for ${owner}`);
  return place;
}

/** Enters as often as there is a place; returns the places. */
function fill(bulkhead: Bulkhead, callers: Iterable<{ origin: string; owner: string }>, now: number): Place[] {
  return [...callers].flatMap((caller) => {
    const place = bulkhead.enter(caller, now);
    return place instanceof Busy ? [] : [place];
  });
}

const times = <T>(count: number, each: (n: number) => T) => Array.from({ length: count }, (_, n) => each(n));

describe("of 20 slots", () => {
  test("15 are for calls to one known origin, whoever they are for", () => {
    const calls = times(40, () => ({ origin: "known", owner: "anna" }));
    expect(fill(newBulkhead(), calls, 0)).toHaveLength(shares.known);
  });

  test("3 are for calls to one other origin", () => {
    const calls = times(40, (n) => ({ origin: "own", owner: `user ${n}` }));
    expect(fill(newBulkhead(), calls, 0)).toHaveLength(shares.one);
  });

  test("3 are for calls to other origins for one owner", () => {
    const calls = times(40, (n) => ({ origin: `own ${n}`, owner: "anna" }));
    expect(fill(newBulkhead(), calls, 0)).toHaveLength(shares.one);
  });

  test("5 are for calls to other origins that have not answered, and 10 for all other origins", () => {
    const bulkhead = newBulkhead();
    for (const place of times(5, (n) => enter(bulkhead, `good ${n}`, `user ${n}`, 0))) place.leave(true, 1);
    const bad = times(40, (n) => ({ origin: `bad ${n}`, owner: `user ${n}` }));
    expect(fill(bulkhead, bad, 2)).toHaveLength(shares.unproven);
    const good = times(40, (n) => ({ origin: `good ${n % 5}`, owner: `other ${n}` }));
    expect(fill(bulkhead, good, 2)).toHaveLength(shares.others - shares.unproven);
    expect(fill(bulkhead, bad, 3)).toEqual([]);
  });

  test("all are for other origins where none is known, and 15 for those of them that have not answered", () => {
    const bulkhead = new Bulkhead(SLOTS, () => false, SHARES_OF_OTHERS);
    for (const place of times(8, (n) => enter(bulkhead, `good ${n}`, `user ${n}`, 0))) place.leave(true, 1);
    const bad = times(40, (n) => ({ origin: `bad ${n}`, owner: `user ${n}` }));
    expect(fill(bulkhead, bad, 2)).toHaveLength(15);
    const good = times(40, (n) => ({ origin: `good ${n % 8}`, owner: `other ${n}` }));
    expect(fill(bulkhead, good, 2)).toHaveLength(SLOTS - 15);
  });

  test("as many are shared as there are, also when that changes", () => {
    const bulkhead = newBulkhead();
    const known = times(80, () => ({ origin: "known", owner: "anna" }));
    const others = times(80, (n) => ({ origin: `own ${n}`, owner: `user ${n}` }));
    fill(bulkhead, [...known, ...others], 0);
    bulkhead.resize(2 * SLOTS);
    expect(fill(bulkhead, known, 1)).toHaveLength(shares.known);
    expect(fill(bulkhead, others, 1)).toHaveLength(shares.unproven);
    bulkhead.resize(SLOTS);
    expect(fill(bulkhead, [...known, ...others], 2)).toEqual([]);
  });

  test("one that is paused gets no more of them before it answers", () => {
    const bulkhead = newBulkhead();
    for (const place of times(5, () => enter(bulkhead, "known", "anna", 0))) place.leave(false, 1);
    bulkhead.resize(2 * SLOTS);
    const known = times(80, () => ({ origin: "known", owner: "anna" }));
    expect(fill(bulkhead, known, 2)).toEqual([]);
    const [trial] = fill(bulkhead, known, 60_000);
    trial!.leave(true, 60_001);
    expect(fill(bulkhead, known, 60_002)).toHaveLength(2 * shares.known);
  });

  test("one of few slots that is paused gets no more when there are more", () => {
    const bulkhead = new Bulkhead(1, isKnown);
    for (let n = 0; n < 5; n += 1) enter(bulkhead, "known", "anna", n).leave(false, n);
    bulkhead.resize(SLOTS);
    const known = times(80, () => ({ origin: "known", owner: "anna" }));
    expect(fill(bulkhead, known, 60_000)).toHaveLength(1);
  });

  test.each([
    ["leaves a call unanswered", false, 1],
    ["takes more than five seconds", true, 5_001],
  ])("an origin that %s is again one that has not answered", (_case, answered, ms) => {
    const bulkhead = newBulkhead();
    const caller = { origin: "own", owner: "anna" };
    const bad = times(shares.unproven, (n) => ({ origin: `bad ${n}`, owner: `user ${n}` }));
    enter(bulkhead, "own", "anna", 0).leave(true, 5_000);
    const places = fill(bulkhead, bad, 5_000);
    enter(bulkhead, "own", "anna", 5_000).leave(answered, 5_000 + ms);
    expect(bulkhead.enter(caller, 20_000)).toBeInstanceOf(Busy);
    places[0]?.leave(false, 20_000);
    expect(bulkhead.enter(caller, 20_000)).not.toBeInstanceOf(Busy);
  });
});

describe("an origin that leaves five calls in a row unanswered", () => {
  const paused = (origin = "known") => {
    const bulkhead = newBulkhead();
    for (let n = 0; n < 5; n += 1) enter(bulkhead, origin, "anna", n).leave(false, n);
    return bulkhead;
  };
  const caller = { origin: "known", owner: "anna" };

  test("is shown with the begin of its first pause and the end of its last, the known ones first, until it answers", () => {
    const bulkhead = paused("own");
    for (let n = 0; n < 5; n += 1) enter(bulkhead, "known", "anna", 100).leave(false, 100);
    enter(bulkhead, "known", "anna", 5_100).leave(false, 5_100);
    const shown = [
      { origin: "known", since: 100, until: 15_100 },
      { origin: "own", since: 4, until: 5_004 },
    ];
    expect(bulkhead.paused(9)).toEqual(shown);
    expect(bulkhead.paused(1)).toEqual(shown.slice(0, 1));
    enter(bulkhead, "known", "anna", 20_000).leave(true, 20_001);
    expect(bulkhead.paused(9)).toEqual(shown.slice(1));
  });

  test("is not called for five seconds, then for ten, and never for longer than thirty", () => {
    const bulkhead = paused();
    let now = 4;
    for (const seconds of [5, 10, 20, 30, 30]) {
      now += seconds * 1_000;
      expect(bulkhead.enter(caller, now - 1)).toBeInstanceOf(Busy);
      enter(bulkhead, "known", "anna", now).leave(false, now);
    }
  });

  test("gets one call at a time after that, until it answers one", () => {
    const bulkhead = paused();
    const probe = enter(bulkhead, "known", "anna", 6_000);
    expect(bulkhead.enter(caller, 6_000)).toBeInstanceOf(Busy);
    probe.leave(true, 6_100);
    expect(
      fill(
        bulkhead,
        times(40, () => caller),
        6_100,
      ),
    ).toHaveLength(shares.known);
  });

  test("is paused once when all of its calls fail together", () => {
    const bulkhead = newBulkhead();
    const places = fill(
      bulkhead,
      times(15, () => caller),
      0,
    );
    for (const place of places) place.leave(false, 10_000);
    enter(bulkhead, "known", "anna", 15_000);
  });

  test("is not paused when one of them was answered", () => {
    const bulkhead = newBulkhead();
    for (let n = 0; n < 40; n += 1) enter(bulkhead, "known", "anna", n).leave(n % 5 === 4, n);
  });

  test("does not hold up calls to others", () => {
    enter(paused("bad"), "good", "anna", 5);
  });
});

describe("callers without a place", () => {
  test("are told to come back one after the other, as fast as the origin answers", () => {
    const bulkhead = newBulkhead();
    // an origin that takes a second
    for (let n = 0; n < 30; n += 1) enter(bulkhead, "own", "anna", n * 1_000).leave(true, (n + 1) * 1_000);
    fill(
      bulkhead,
      times(3, () => ({ origin: "own", owner: "anna" })),
      30_000,
    );
    const waits = times(60, (n) => {
      const busy = bulkhead.enter({ origin: "own", owner: `user ${n}` }, 30_000);
      return busy instanceof Busy ? busy.waitMs : 0;
    });
    expect(waits.map((wait, n) => Math.round(wait - (waits[n - 1] ?? 0)))).toEqual(times(60, () => 333));
  });

  test("of a known origin come back within seconds of its pause, or of the call that shows whether it answers", () => {
    const bulkhead = newBulkhead();
    const caller = { origin: "known", owner: "anna" };
    const places = fill(
      bulkhead,
      times(shares.known, () => caller),
      0,
    );
    for (const place of places) place.leave(false, 10_000);
    const waits = (now: number) =>
      times(100, () => {
        const busy = bulkhead.enter(caller, now);
        return busy instanceof Busy ? busy.waitMs : 0;
      });
    expect(Math.max(...waits(10_000))).toBeLessThan(7_000);
    const probe = enter(bulkhead, "known", "anna", 17_000);
    expect(Math.max(...waits(17_500))).toBeLessThan(5_000);
    probe.leave(true, 17_600);
    expect(bulkhead.enter(caller, 17_600)).not.toBeInstanceOf(Busy);
  });

  test("do not come back together, however many there are", () => {
    const bulkhead = newBulkhead();
    fill(
      bulkhead,
      times(3, () => ({ origin: "own", owner: "anna" })),
      0,
    );
    const waits = times(10_000, (n) => {
      const busy = bulkhead.enter({ origin: "own", owner: `user ${n}` }, 10_000);
      return busy instanceof Busy ? Math.floor(busy.waitMs / 1_000) : 0;
    });
    const perSecond = times(121, (second) => waits.filter((wait) => wait === second).length);
    expect(Math.max(...perSecond)).toBeLessThan(400);
  });
});

/** Something that happens to a bulkhead; a name is one of a few, so that limits are reached. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      origin: fc.oneof(
        fc.constantFrom("known 1", "known 2"),
        fc.nat(15).map((n) => `own ${n}`),
      ),
      owner: fc.nat(8).map((n) => `user ${n}`),
    }),
  },
  { weight: 2, arbitrary: fc.record({ leaves: fc.nat(30), answered: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ passes: fc.nat(20_000) }) },
);

test("whatever happens, no limit is exceeded, every wait ends, and a known origin that answers has its share", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const bulkhead = newBulkhead();
      const open: { place: Place; origin: string; owner: string; since: number; proven: boolean }[] = [];
      const proven = new Set<string>();
      let now = 0;
      for (const each of steps) {
        if ("passes" in each) now += each.passes;
        else if ("leaves" in each) {
          const [left] = open.splice(each.leaves % Math.max(open.length, 1), 1);
          if (!left) continue;
          // known origins answer in this test
          const answered = isKnown(left.origin) || each.answered;
          left.place.leave(answered, now);
          if (answered && now - left.since <= PROMPT_MS) proven.add(left.origin);
          else proven.delete(left.origin);
        } else {
          const { origin, owner } = each;
          const full = open.filter((call) => call.origin === origin).length >= shares.known;
          const place = bulkhead.enter(each, now);
          if (isKnown(origin)) expect(place instanceof Busy).toBe(full);
          if (place instanceof Busy) {
            expect(place.waitMs).toBeGreaterThan(0);
            expect(place.waitMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
          } else open.push({ place, origin, owner, since: now, proven: proven.has(origin) });
        }
        const others = open.filter(({ origin }) => !isKnown(origin));
        const most = (of: (call: (typeof open)[number]) => string) =>
          Math.max(0, ...others.map((call) => others.filter((other) => of(other) === of(call)).length));
        expect(others.length).toBeLessThanOrEqual(shares.others);
        expect(others.filter((call) => !call.proven).length).toBeLessThanOrEqual(shares.unproven);
        expect(most(({ origin }) => origin)).toBeLessThanOrEqual(shares.one);
        expect(most(({ owner }) => owner)).toBeLessThanOrEqual(shares.one);
      }
      for (const { place } of open) place.leave(true, now);
      enter(bulkhead, "new", "nobody", now);
    }),
  );
});
