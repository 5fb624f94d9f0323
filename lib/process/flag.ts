/** An event flag for one waiter: setting it wakes the waiter, or lets the next wait end at once. */
export class Flag {
  #isSet = false;
  #wake = (): void => undefined;

  set = (): void => {
    this.#isSet = true;
    this.#wake();
  };

  /** Resolves when the flag is set, or was set since the last wait, or after `ms`; clears it. */
  async wait(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    if (!this.#isSet) {
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
        this.#wake = resolve;
      });
    }
    clearTimeout(timer);
    this.#isSet = false;
  }
}
