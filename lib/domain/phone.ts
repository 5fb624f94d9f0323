/** The form in which phone numbers are kept: +7 and ten digits. */
export const phonePattern = /^\+7\d{10}$/;

/** Reads a Russian phone number in any spelling, such as 8 (999) 123-45-67; null when it is not one. */
export function readPhone(written: string): string | null {
  const digits = written.replace(/[^\d]/g, "");
  const [, subscriber] = /^[78]?(\d{10})$/.exec(digits) ?? [];
  return subscriber === undefined ? null : `+7${subscriber}`;
}
