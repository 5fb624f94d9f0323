/** Days as ISO 8601 counts them: Monday is 1. */
export type OpeningHours = {
  day: number;
  /** HH:MM in the partner's zone. */
  opens: string;
  /** HH:MM, later than `opens`; `24:00` is the end of the day. */
  closes: string;
};

/** Which of these hours are wrong, and why: they end before they begin, or lie over others of the same day. */
export function flawsOfHours(hours: readonly OpeningHours[]): { index: number; message: string }[] {
  return hours.flatMap(({ day, opens, closes }, index) => {
    if (opens >= closes) return [{ index, message: "must close after it opens" }];
    const crossed = hours
      .slice(0, index)
      .some((other) => other.day === day && other.opens < closes && opens < other.closes);
    return crossed ? [{ index, message: "must not lie over other hours of the day" }] : [];
  });
}
