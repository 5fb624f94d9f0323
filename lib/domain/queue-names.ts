/** The names of all queues, as in contracts and in the configuration. */
export const queueNames = [
  "ad-events",
  "address-checks",
  "data-export",
  "fan-out",
  "geocode",
  "images",
  "menu-import",
  "pos-events",
  "pos-sync",
  "push",
  "rollups",
  "sms",
  "statements",
  "upkeep",
  "webhooks",
] as const;
