/** Every enum of the schema, its name in camelCase and its values in order; test/sql/enums.test.ts compares them. */
export const enums = {
  boxStatus: ["ACTIVE", "SOLD_OUT", "EXPIRED"],
  bulkActionKind: ["REPLAY", "DISMISS", "RUN", "SNOOZE", "CANCEL"],
  bulkActionState: ["DEAD", "DUE", "WAITING", "PARKED"],
  campaignStatus: ["DRAFT", "ACTIVE", "PAUSED", "COMPLETED"],
  deliveryStatus: ["SENDING", "SENT", "UNKNOWN", "LATER", "GONE", "FAILED"],
  devicePlatform: ["ios", "android", "web"],
  exportStatus: ["QUEUED", "READY", "FAILED"],
  fileStatus: ["UPLOADING", "STORED", "READY", "REFUSED"],
  geocodeStatus: ["ASKED", "FOUND", "NOT_FOUND", "FAILED"],
  itemSource: ["MANUAL", "CSV", "POS"],
  ledgerAccount: ["TILL", "BALANCE", "BANK", "SALES", "PROMO", "COMMISSION", "ADJUSTMENTS"],
  ledgerKind: ["SALE", "PROMO", "COMMISSION", "CORRECTION", "PAYOUT"],
  loyaltyKind: ["ORDER", "REFERRED", "REFERRER"],
  menuImportStatus: ["QUEUED", "RUNNING", "DONE", "FAILED"],
  notificationStatus: ["QUEUED", "DEFERRED", "SENT", "FAILED", "DROPPED"],
  orderActor: ["CUSTOMER", "PARTNER", "SERVICE"],
  orderStatus: ["ACCEPTED", "READY", "COMPLETED", "CANCELLED", "NO_SHOW"],
  partnerStatus: ["PENDING_REVIEW", "ACTIVE", "REJECTED", "SUSPENDED"],
  posEventStatus: ["QUEUED", "PROCESSED", "PARKED"],
  posSyncFailure: ["REFUSED", "UNAVAILABLE", "TOO_LARGE", "REPLACED", "ABANDONED", "EMPTY"],
  posSyncStatus: ["QUEUED", "RUNNING", "DONE", "FAILED"],
  processRole: ["API", "WORKER"],
  reviewStatus: ["PUBLISHED", "PENDING", "APPROVED", "REJECTED"],
  webhookStatus: ["PENDING", "SENT", "FAILED"],
  webhookStop: ["BY_OWNER", "BY_OPERATOR", "GONE", "FAILING"],
} as const;

/** One value of an enum. */
export type Enum<Name extends keyof typeof enums> = (typeof enums)[Name][number];
