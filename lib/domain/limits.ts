/** Limits on input, the same for the API, CSV files and POS systems. */
export const limits = {
  /** The highest price of an item or a box, in minor units: every total of an order stays a safe integer. */
  priceMinor: 1_000_000_000,
  weightGrams: 1_000_000,
  /** Characters. */
  text: { name: 200, category: 100, description: 2_000, externalId: 200, address: 500 },
  order: { lines: 50, pieces: 100 },
  box: { boxes: 10_000, items: 50, pieces: 100 },
  /** An import keeps as many of its errors, the first of them, and counts all. */
  menuFile: { megabytes: 50, rows: 500_000, errors: 1_000 },
} as const;
