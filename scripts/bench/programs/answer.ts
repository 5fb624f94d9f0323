import type { z } from "zod";

/** Answers this process's parent: every question with what `answer` makes of it; a failure ends the process. */
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

/** Does `work` again and again, `clients` at once, for so many seconds; answers how often per second it was done. */
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
