import { hash } from "node:crypto";

/** A fraction between 0 and 1, both excluded, that looks random and is the same again for the same text. */
const fractionOf = (text: string) => (Number.parseInt(hash("sha1", text).slice(0, 12), 16) + 0.5) / 2 ** 48;

/**
 * Puts items in an order of chance in which the heavier come sooner: each comes first with a probability of its weight
 * out of all weights, and so does each of the rest after it. The same seed gives the same order.
 */
export const weightedOrder = <T extends { id: string; weight: number }>(items: readonly T[], seed: string): T[] =>
  items
    .map((item) => ({ item, arrival: -Math.log(fractionOf(`${seed} ${item.id}`)) / item.weight }))
    .sort((a, b) => a.arrival - b.arrival)
    .map(({ item }) => item);
