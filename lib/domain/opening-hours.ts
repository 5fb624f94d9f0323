/** Opening hours of a weekday; days as in ISO 8601: Monday is 1. */
export type OpeningHours = {
  day: number;
  /** HH:MM in the partner's zone. */
  opens: string;
  /** HH:MM, later than `opens`; `24:00` is the end of the day. */
  closes: string;
};

/** Returns which entries are wrong, and why: they close before they open, or overlap others of the same day. */
export function openingHoursErrors(hours: readonly OpeningHours[]): { index: number; message: string }[] {
  return hours.flatMap(({ day, opens, closes }, index) => {
    if (opens >= closes) return [{ index, message: "must close after it opens" }];
    const overlaps = hours
      .slice(0, index)
      .some((other) => other.day === day && other.opens < closes && opens < other.closes);
    return overlaps ? [{ index, message: "must not overlap other hours of the day" }] : [];
  });
}
