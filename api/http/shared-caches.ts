/**
 * For how many seconds shared caches may serve a public answer, and then for how many more while they fetch a new one. Browsers
 * ask every time, so that nobody waits longer than these caches make them.
 */
const seconds = {
  /** Boxes: what is sold out shows within 5 seconds, of which a cache that counts whole seconds, as nginx does, adds one. */
  stock: [2, 2],
  /** Profiles, reviews and places. */
  profile: [10, 20],
  /** What changes a few times a year. */
  setting: [60, 240],
} as const;

/** How long shared caches may keep an answer. */
export type Sharing = keyof typeof seconds;

/** Returns the Cache-Control of a public answer. */
export function cacheControlOf(sharing: Sharing): string {
  const [fresh, stale] = seconds[sharing];
  return `public, max-age=0, s-maxage=${fresh}, stale-while-revalidate=${stale}`;
}
