import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { weightedOrder } from "../../../lib/domain/weighted-order.js";

const items = fc.uniqueArray(fc.record({ id: fc.uuid(), weight: fc.integer({ min: 1, max: 100 }) }), {
  selector: ({ id }) => id,
});

test("one seed gives one order, whatever the input order, without losing or repeating items", () => {
  fc.assert(
    fc.property(items, fc.string(), (all, seed) => {
      const ordered = weightedOrder(all, seed);
      expect(weightedOrder([...all].reverse(), seed)).toEqual(ordered);
      expect(new Set(ordered)).toEqual(new Set(all));
      expect(ordered).toHaveLength(all.length);
    }),
  );
});

test("items come first, and next after the first, in proportion to their weights", () => {
  const all = [
    { id: "light", weight: 1 },
    { id: "middling", weight: 3 },
    { id: "heavy", weight: 6 },
  ];
  const turns = 20_000;
  const orders = Array.from({ length: turns }, (_, turn) => weightedOrder(all, String(turn)).map(({ id }) => id));
  const share = (...beginning: string[]) =>
    orders.filter((order) => beginning.every((id, n) => order[n] === id)).length / turns;
  expect(share("light")).toBeCloseTo(0.1, 1.5);
  expect(share("middling")).toBeCloseTo(0.3, 1.5);
  expect(share("heavy")).toBeCloseTo(0.6, 1.5);
  expect(share("heavy", "middling")).toBeCloseTo(0.6 * (3 / 4), 1.5);
});
