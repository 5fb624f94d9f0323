/**
 * Returns a function that starts `work`, which must never reject. Calls during a run, and in the `restMs` after it, share one
 * further run, which begins then.
 */
export function coalesce(work: () => Promise<unknown>, restMs: number): () => void {
  let busy = false;
  let again = false;
  const start = (): void => {
    again = busy;
    if (busy) return;
    busy = true;
    const end = () => {
      busy = false;
      if (again) start();
    };
    void work().finally(() => setTimeout(end, restMs));
  };
  return start;
}
