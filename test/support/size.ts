/** `TEST_FULL=1`, as in `.ci/run`, runs heavy tests at their full size; without it they run at a smaller one. */
const isFull = process.env["TEST_FULL"] === "1";

/** The size of a heavy test. */
export const sized = (full: number, small: number): number => (isFull ? full : small);
