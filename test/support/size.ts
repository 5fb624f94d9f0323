/** `TEST_FULL=1`, as in `.ci/run`, has everything that is heavy done at its full size; without it less is done, of the same kind. */
const isFull = process.env["TEST_FULL"] === "1";

/** How much of something heavy a test does. */
export const sized = (full: number, small: number): number => (isFull ? full : small);
