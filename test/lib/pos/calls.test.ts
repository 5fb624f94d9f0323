import { expect, test } from "@jest/globals";
import { PosUnavailable } from "../../../lib/pos/adapter.js";
import { readPages, retrying } from "../../../lib/pos/calls.js";

const never = new AbortController().signal;

test("a wait ends when the pull is aborted", async () => {
  const controller = new AbortController();
  const asked = retrying(controller.signal)(() => {
    // once the wait has begun
    setImmediate(() => controller.abort());
    return Promise.reject(new PosUnavailable("later", 20));
  });
  await expect(asked).rejects.toMatchObject({ name: "AbortError" });
});

test("the time to wait is limited per pull, not per call", async () => {
  const ask = retrying(never);
  let refusals = 0;
  const call = (times: number) => {
    let left = times;
    return ask(() => {
      if (left === 0) return Promise.resolve("answer");
      left -= 1;
      refusals += 1;
      return Promise.reject(new PosUnavailable("later", 0));
    });
  };
  expect(await call(2)).toBe("answer");
  expect(await call(1)).toBe("answer");
  await expect(call(1)).rejects.toThrow("later");
  expect(refusals).toBe(4);
});

test("other failures are not waited for", async () => {
  let asked = 0;
  const ask = retrying(never)(() => {
    asked += 1;
    return Promise.reject(new Error("broken"));
  });
  await expect(ask).rejects.toThrow("broken");
  expect(asked).toBe(1);
});

test("a list in parts is limited, however new its cursors are", async () => {
  let asked = 0;
  const parts = readPages(() => Promise.resolve({ entries: [asked], next: String((asked += 1)) }));
  const all = async () => {
    for await (const part of parts) expect(part).toHaveLength(1);
  };
  await expect(all()).rejects.toThrow(PosUnavailable);
  expect(asked).toBeGreaterThan(1_000);
});
