import type { Place, Surface } from "./surface.js";

/** Breaks since the last release that are meant: what `breaksBetween` says, and why no app minds. A release empties the list. */
export const explained: readonly { is: string; why: string }[] = [];

/** Whether a place is within another. */
const isWithin = (place: string, outer: string) => place.startsWith(outer) && /^[.[ ]/.test(place.slice(outer.length));

const missing = (wanted: readonly string[], there: readonly string[]) => wanted.filter((each) => !there.includes(each));

/** Returns what has become narrower about what may be sent. */
function tightened(before: Place, now: Place): string[] {
  return Object.entries(now.bounds ?? {}).flatMap(([name, value]) => {
    const old = before.bounds?.[name];
    const isWider =
      typeof value === "number" && typeof old === "number" && (name.startsWith("max") ? value >= old : value <= old);
    return old === value || isWider ? [] : [`${name} is now ${value}`];
  });
}

/** Returns, in a sentence each, what apps written for `before` may miss in `now`. Whatever is new and optional is no break. */
export function breaksBetween(before: Surface, now: Surface): string[] {
  const isKnown = (place: string) =>
    place in before.gives || Object.keys(before.takes).some((each) => each === place || isWithin(each, place));
  const gone = (direction: keyof Surface) => {
    const places = missing(Object.keys(before[direction]), Object.keys(now[direction]));
    const operations = missing(Object.keys(before.gives), Object.keys(now.gives));
    return places.filter((place) => ![...places, ...operations].some((outer) => isWithin(place, outer)));
  };
  const both = (direction: keyof Surface) =>
    Object.entries(before[direction]).flatMap(([place, old]) => {
      const found = now[direction][place];
      return found ? [{ place, old, found }] : [];
    });
  const added = (direction: keyof Surface) => missing(Object.keys(now[direction]), Object.keys(before[direction]));
  const outer = (place: string) => place.replace(/(\.[^.[ ]+|\[\]| \d{3})$/, "").replace(/\.(path|query|header)$/, "");

  return [
    ...gone("gives").map((place) => `${place} is gone`),
    ...both("gives").flatMap(({ place, old, found }) => [
      ...missing(found.kinds, old.kinds).map((kind) => `${place} may now be ${kind}`),
      ...(old.always && !found.always ? [`${place} may now be absent`] : []),
    ]),
    ...added("gives")
      .filter((place) => / [23]\d\d$/.test(place) && isKnown(outer(place)))
      .map((place) => `${place} is a new answer`),
    ...gone("takes").map((place) => `${place} is no longer taken`),
    ...both("takes").flatMap(({ place, old, found }) => [
      ...missing(old.kinds, found.kinds).map((kind) => `${place} may no longer be ${kind}`),
      ...(found.always && !old.always ? [`${place} must now be sent`] : []),
      ...tightened(old, found).map((bound) => `${place}: ${bound}`),
    ]),
    ...added("takes")
      .filter((place) => now.takes[place]?.always === true && isKnown(outer(place)))
      .map((place) => `${place} must now be sent`),
  ];
}
