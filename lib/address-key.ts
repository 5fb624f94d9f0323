/** What addresses have in common that mean the same to a reader: case, blanks and commas do not count. */
export const addressKey = (address: string): string =>
  address
    .normalize("NFKC")
    .toLowerCase()
    .split(/[\s,;]+/)
    .filter(Boolean)
    .join(" ");
