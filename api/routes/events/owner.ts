/** Returns the owner of a caller's webhook endpoints: a partner's id, or null for the platform. */
export const ownerOf = (partner: { id: string } | null): string | null => partner?.id ?? null;
