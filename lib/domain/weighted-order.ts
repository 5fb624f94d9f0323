import { hash } from "node:crypto";

/** Returns a pseudo-random fraction between 0 and 1, both excluded, that depends on the text alone. */
const fractionOf = (text: string) => (Number.parseInt(hash("sha1", text).slice(0, 12), 16) + 0.5) / 2 ** 48;

/**
 * Shuffles items by weight: each comes first with the probability of its share of all weights, and so on for the rest. The
 * same seed gives the same order.
 */
export const weightedOrder = <T extends { id: string; weight: number }>(items: readonly T[], seed: string): T[] =>
  items
    .map((item) => ({ item, arrival: -Math.log(fractionOf(`${seed} ${item.id}`)) / item.weight }))
    .sort((a, b) => a.arrival - b.arrival)
    .map(({ item }) => item);
