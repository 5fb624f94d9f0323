import { expect, test } from "@jest/globals";
import { openTurns } from "../../../sql/driver/turns.js";
import { until } from "../../support/until.js";

/** Work that ends when it is told to, and the order in which it began. */
function works() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () =>
    new Promise<string>((resolve) => {
      begun.push(name);
      ends.set(name, () => resolve(name));
    });
  return { begun, work, end: (name: string) => ends.get(name)?.() };
}

test("work of one key runs in the order of arrival, beside that of other keys", async () => {
  const inTurn = openTurns("orders", 1, 600_000);
  const { begun, work, end } = works();
  const anna = ["first", "second", "third"].map((name) => inTurn("anna", work(name)));
  const boris = inTurn("boris", work("other"));
  await until(() => begun.includes("other"));
  expect(begun).toEqual(["first", "other"]);
  for (const name of ["other", "first", "second", "third"]) {
    await until(() => begun.includes(name));
    end(name);
  }
  expect(await Promise.all([...anna, boris])).toEqual(["first", "second", "third", "other"]);
  expect(begun).toEqual(["first", "other", "second", "third"]);
});

test("pieces of one key run at once as long as their sizes allow it", async () => {
  const inTurn = openTurns("searches", 3, 600_000);
  const { begun, work, end } = works();
  const all = [inTurn("anna", work("large"), 2), inTurn("anna", work("small")), inTurn("anna", work("next"), 2)];
  await until(() => begun.length === 2);
  expect(begun).toEqual(["large", "small"]);
  end("small");
  await all[1];
  expect(begun).toEqual(["large", "small"]);
  end("large");
  await until(() => begun.includes("next"));
  end("next");
  await Promise.all(all);
});

test("a failure ends a turn, and work that waits for too long is refused", async () => {
  const inTurn = openTurns("orders", 1, 20);
  const { begun, work, end } = works();
  await expect(inTurn("anna", () => Promise.reject(new Error("no box is left")))).rejects.toThrow("no box is left");
  const first = inTurn("anna", work("first"));
  await expect(inTurn("anna", work("second"))).rejects.toMatchObject({
    code: "53300",
    message: /too many orders are waiting/,
  });
  end("first");
  expect([await first, begun]).toEqual(["first", ["first"]]);
});
