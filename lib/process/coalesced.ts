/**
 * Makes a function that starts `work`, which never rejects. However often it is called, one run is under way and one
 * follows: each call is answered by a run that begins after it.
 */
export function coalesced(work: () => Promise<unknown>): () => void {
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
