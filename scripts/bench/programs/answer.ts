import type { z } from "zod";

/** Answers each message of the parent process with the result of `answer`; a failure ends the process. */
export function answerParent<T>(question: z.ZodType<T>, answer: (question: T) => Promise<object>): void {
  process.on("message", (message) => {
    answer(question.parse(message)).then(
      (result) => process.send?.(result),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
  });
  process.on("disconnect", () => process.exit());
  process.send?.("up");
}

/** Repeats `work` in `clients` concurrent loops for `seconds`; returns how often per second it was done. */
export async function perSecond(clients: number, seconds: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  const end = start + seconds * 1_000;
  let done = 0;
  const client = async () => {
    while (performance.now() < end) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (done * 1_000) / (performance.now() - start);
}
