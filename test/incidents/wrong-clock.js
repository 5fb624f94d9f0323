// Loaded before a program, it puts the clock of its process two hours back.
const BEHIND_MS = 2 * 3_600_000;
const Right = globalThis.Date;

globalThis.Date = class extends Right {
  constructor(...given) {
    super(...(given.length === 0 ? [Right.now() - BEHIND_MS] : given));
  }

  static now() {
    return Right.now() - BEHIND_MS;
  }
};
