import { currentSpan, inSharedSpan, type Span } from "../lib/process/traces.js";
import { faultOf } from "./db.js";

interface Call<Item, Result> {
  readonly item: Item;
  readonly span: Span | undefined;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that does `work` for one item, together with all items that are asked for in the same tick or while a batch
 * runs: a statement for many rows costs little more than one for one row. `work` returns the result of each of its items, in their
 * order, or a promise of it: an item that takes longer than the others delays none. When it fails, each item is tried alone, so that
 * none fails for another; while Postgres cannot be reached, all fail.
 */
export function inBatches<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>,
  {
    most = Number.POSITIVE_INFINITY,
    keyOf,
  }: {
    /** Of a batch. */
    most?: number;
    /** Items of one key are done one after the other, in batches of their own: a statement could not tell their results apart. */
    keyOf?: (item: Item) => string;
  } = {},
): (item: Item) => Promise<Result> {
  let waiting: Call<Item, Result>[] = [];
  let running = false;

  const takeBatch = (): Call<Item, Result>[] => {
    const batch: Call<Item, Result>[] = [];
    const left: Call<Item, Result>[] = [];
    const keys = new Set<string>();
    for (const call of waiting) {
      const key = keyOf?.(call.item);
      const fits = batch.length < most && (key === undefined || !keys.has(key));
      (fits ? batch : left).push(call);
      if (key !== undefined) keys.add(key);
    }
    waiting = left;
    return batch;
  };

  const attempt = async (calls: readonly Call<Item, Result>[]): Promise<void> => {
    const spans = calls.map(({ span }) => span);
    const results = await inSharedSpan("batch", spans, () => work(calls.map(({ item }) => item)));
    if (results.length !== calls.length) throw new Error(`a batch of ${calls.length} has ${results.length} results`);
    results.forEach((result, index) => calls[index]?.resolve(result));
  };
  const run = async (calls: readonly Call<Item, Result>[]): Promise<void> => {
    try {
      await attempt(calls);
    } catch (error) {
      if (calls.length === 1 || faultOf(error) === "unreachable") for (const { reject } of calls) reject(error);
      else await Promise.all(calls.map((call) => attempt([call]).catch(call.reject)));
    }
  };
  const runAll = async (): Promise<void> => {
    running = true;
    // what the present tick asks for belongs to the first batch
    await Promise.resolve();
    while (waiting.length > 0) await run(takeBatch());
    running = false;
  };

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, span: currentSpan(), resolve, reject });
      if (!running) void runAll();
    });
}
