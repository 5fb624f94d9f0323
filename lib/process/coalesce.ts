/**
 * Returns a function that starts `work`, which must never reject. Calls during a run share one further run, which begins
 * when the current one has ended.
 */
export function coalesce(work: () => Promise<unknown>): () => void {
  let running = false;
  let again = false;
  const start = (): void => {
    again = running;
    if (running) return;
    running = true;
    void work().finally(() => {
      running = false;
      if (again) start();
    });
  };
  return start;
}
