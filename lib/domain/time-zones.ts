/** Area and place, or UTC: offsets and three-letter abbreviations mean different things to different programs. */
const form = /^(UTC|[A-Za-z_]+(\/[A-Za-z0-9_+-]+)+)$/;

/** Obsolete names that ICU knows and Postgres does not. */
const obsolete = /^(SystemV\/.*|US\/Pacific-New|Canada\/East-Saskatchewan)$/i;

/** Whether `name` is an IANA time zone such as `Europe/Moscow`, its older names included. */
export function isTimeZone(name: string): boolean {
  if (!form.test(name) || obsolete.test(name)) return false;
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
}
