/** The names of all POS adapters, as in credentials, webhooks' addresses and the configuration. */
export const adapterNames = ["square", "poster", "iiko", "generic"] as const;

export type AdapterName = (typeof adapterNames)[number];
