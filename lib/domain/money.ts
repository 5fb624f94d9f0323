/** An amount of money in minor units (kopecks, cents): always an integer. */
export type Minor = number;

const amount = /^(\d{1,13})(?:\.(\d{1,2}))?$/;

/** Converts major units (249.9) to minor units (24990) without floating-point arithmetic; null when it is negative or has more than two decimals. */
export function toMinor(major: number): Minor | null {
  const [, whole, fraction = ""] = amount.exec(String(major)) ?? [];
  return whole === undefined ? null : Number(whole + fraction.padEnd(2, "0"));
}

/**
 * Converts minor units (24990) to the major units that callers see (249.9). The quotient of two integers is rounded to the nearest
 * double, as the decimal fraction is when it is read.
 */
export const toMajor = (minor: Minor): number => minor / 100;

const microsPerMinor = 10_000;

/** Converts minor units to millionths of a major unit, in which fractions of a minor unit are summed. */
export const toMicro = (minor: Minor): number => minor * microsPerMinor;

/** Converts millionths of a major unit to minor units, rounded down. */
export const wholeMinor = (micro: number): Minor => Math.floor(micro / microsPerMinor);
