/** Returns whose webhook endpoints a caller has: a partner's, or with null the platform's. */
export const ownerOf = (partner: { id: string } | null): string | null => partner?.id ?? null;
