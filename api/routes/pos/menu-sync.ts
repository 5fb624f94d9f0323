import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { config } from "../../../lib/process/config.js";
import { estimateEnd } from "../../../lib/domain/progress.js";
import type { ApiError } from "../../../lib/process/errors.js";
import { inTurn, lookups, sql } from "../../../sql/db.js";
import { findPosSync, requestPosSync, type PosSyncRow } from "../../../sql/queries/pos-syncs.js";
import { awaitResult } from "../../../sql/signals.js";
import { accepted, found, ok, section } from "../../http/endpoint.js";
import { partnerBlocked, refuseBlockedPartner } from "./connection.js";
import { refusal, refusalWith } from "../../http/refusal.js";
import { retryFacts } from "../../http/refusals.js";
import { EstimatedEnd, Id, Timestamp } from "../../http/schemas.js";

const RETRY_SECONDS = 60;

const SyncErrors = z.array(
  z.object({
    externalId: z.string().nullable(),
    name: z.string().nullable().default(null).meta({ description: "its name in the POS, where it is known" }),
    position: z.int().nullable().default(null).meta({ description: "its entry in the POS's menu, counted from 1" }),
    message: z.string(),
  }),
);

const SyncView = z
  .object({
    syncId: Id,
    status: z.enum(enums.posSyncStatus),
    progress: z
      .number()
      .nullable()
      .meta({ description: "0 to 1; null while the length of the menu is unknown", example: 0.4 }),
    estimatedEndAt: EstimatedEnd,
    itemsSynced: z.int().meta({ example: 318 }),
    itemsFailed: z.int().meta({ example: 2 }),
    itemsArchived: z.int().meta({ description: "items that the POS no longer has", example: 1 }),
    unchanged: z.boolean().meta({ description: "the POS reported an unchanged menu and sent no items" }),
    errors: SyncErrors.meta({ description: "what was wrong with single items; about the first 200" }),
    reason: z.string().nullable().meta({ description: "why it failed, or what it could not do" }),
    createdAt: Timestamp,
    settledAt: Timestamp.nullable(),
  })
  .meta({ id: "MenuSync" });

/** A sync that goes on, and how far it is if that could be read in time. */
const OpenSync = z.object({
  syncId: Id,
  ...SyncView.pick({
    status: true,
    progress: true,
    estimatedEndAt: true,
    itemsSynced: true,
    itemsFailed: true,
  }).partial().shape,
});

/** Returns why a sync failed, or what it could not do, as a text for its partner. */
function reasonOf({ failure, reason }: PosSyncRow): string | null {
  switch (failure) {
    case null:
      return reason && `The menu is up to date, but ${reason}.`;
    case "REFUSED":
      return `The POS refuses the connection: ${reason ?? "no reason is given"}.`;
    case "UNAVAILABLE":
      return `The POS does not answer: ${reason ?? "no reason is given"}.`;
    case "TOO_LARGE":
      return `The menu cannot be imported: ${reason ?? "it is too long"}.`;
    case "EMPTY":
      return (
        "The POS sent an empty menu. That is usually an error, so the items that came from it stay. " +
        "Archive them one by one if they no longer exist."
      );
    case "REPLACED":
      return "The connection to the POS was changed meanwhile.";
    case "ABANDONED":
      return "The sync was given up after internal errors.";
  }
}

const notConnected = refusal(
  409,
  "CONFLICT",
  "NOT_CONNECTED",
  "This partner is not connected to a POS.",
  "An admin connects it: `PUT /pos/credentials`.",
);

const syncId = "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f";

/** Declares why a sync fails until somebody mends what is wrong. */
const declareFault = (reason: string, detail: string, remedy: string) =>
  refusalWith(409, "CONFLICT", reason, { detail, remedy, facts: { syncId: Id }, example: { syncId } });

/** Declares why a sync fails for now. */
const declareSilence = (reason: string, detail: string, remedy: string) =>
  refusalWith(503, "UNAVAILABLE", reason, {
    detail,
    remedy,
    facts: { syncId: Id, ...retryFacts },
    example: { syncId, retryAfterSeconds: RETRY_SECONDS },
  });

const faults = {
  REFUSED: declareFault(
    "POS_REFUSED",
    "The POS refuses the connection: HTTP 401.",
    "Let an admin connect the partner with credentials that are valid.",
  ),
  TOO_LARGE: declareFault(
    "POS_MENU_TOO_LARGE",
    "The menu cannot be imported: it is too long.",
    "Remove items from the menu of the POS.",
  ),
  EMPTY: declareFault(
    "POS_MENU_EMPTY",
    "The POS sent an empty menu.",
    "Check the POS. Archive the items one by one if they no longer exist.",
  ),
  REPLACED: declareFault(
    "POS_CONNECTION_REPLACED",
    "The connection to the POS was changed meanwhile.",
    "Sync again, with the new connection.",
  ),
};

const silences = {
  UNAVAILABLE: declareSilence(
    "POS_SILENT",
    "The POS does not answer: HTTP 502.",
    "It is tried again; read the sync later.",
  ),
  ABANDONED: declareSilence(
    "SYNC_ABANDONED",
    "The sync was given up after internal errors.",
    "This is a fault of the service. Sync again after `retryAfterSeconds`.",
  ),
};

function refusalOf(sync: PosSyncRow, failure: NonNullable<PosSyncRow["failure"]>): ApiError {
  const detail = reasonOf(sync) ?? undefined;
  return failure === "UNAVAILABLE" || failure === "ABANDONED"
    ? silences[failure]({ syncId: sync.id, retryAfterSeconds: RETRY_SECONDS }, detail)
    : faults[failure]({ syncId: sync.id }, detail);
}

/** Returns the progress of a sync, estimated by the number of items of the previous one. */
function progressOf({ status, itemsExpected, itemsSynced, itemsFailed }: PosSyncRow): number | null {
  if (status === "DONE") return 1;
  if (!itemsExpected) return status === "QUEUED" ? 0 : null;
  return Math.min(Math.round(((itemsSynced + itemsFailed) / itemsExpected) * 100) / 100, 0.99);
}

function presentProgress(sync: PosSyncRow) {
  const { id, status, itemsSynced, itemsFailed, startedAt, settledAt } = sync;
  const progress = progressOf(sync);
  const estimatedEndAt = settledAt === null ? estimateEnd(progress, startedAt, Date.now()) : null;
  return { syncId: id, status, progress, estimatedEndAt, itemsSynced, itemsFailed };
}

export const menuSync = section({ prefix: "/menu/pos/sync", tag: "Menu" });

menuSync.post(
  "/",
  {
    name: "syncMenu",
    summary: "Sync the menu from the POS",
    description:
      "Matches items by external id. New items are added; items that came from the POS are updated, and archived when the POS " +
      "no longer has them; items made by hand or by CSV stay unchanged. Items that cannot be imported are skipped, and " +
      "`GET /api/v1/menu/pos/sync/{syncId}` lists them with reasons. A request while a sync is open waits for that sync. " +
      "202: it takes longer; its progress and its result are at `Location`. 409 `CONFLICT`: no POS is connected, it refuses the " +
      "connection, or its menu is empty although it had items before (nothing is archived then). 503 `UNAVAILABLE`: it " +
      "does not answer, and is tried again. Both have the `syncId` where a sync was made. Syncs also run every 6 hours, and " +
      "when the POS reports a change; never for a partner that is suspended or rejected.",
    auth: "PARTNER",
    answers: {
      200: z.object({
        itemsSynced: z.int().meta({ example: 318 }),
        itemsFailed: z.int().meta({ example: 2 }),
        syncId: Id,
      }),
      202: OpenSync,
    },
    errors: [partnerBlocked, notConnected, ...Object.values(faults), ...Object.values(silences)],
    waits: true,
  },
  async ({ partner, gone, requestId }) => {
    refuseBlockedPartner(partner);
    const syncId = await inTurn(`syncs ${partner.id}`, () =>
      requestPosSync(sql, partner.id, { byUser: true, requestId }),
    );
    if (syncId === undefined) throw notConnected();
    const latest: { row?: PosSyncRow | undefined } = {};
    const settled = await awaitResult(
      { name: "pos-sync", id: syncId, deadlineMs: config.SYNC_WAIT_MS, abort: gone },
      async () => {
        const sync = await findPosSync(lookups, partner.id, syncId);
        latest.row = sync;
        return sync?.settledAt ? sync : null;
      },
    );
    if (!settled)
      return accepted(latest.row ? presentProgress(latest.row) : { syncId }, `/api/v1/menu/pos/sync/${syncId}`);
    if (settled.failure !== null) throw refusalOf(settled, settled.failure);
    const { itemsSynced, itemsFailed } = settled;
    return ok({ itemsSynced, itemsFailed, syncId });
  },
);

menuSync.get(
  "/:id",
  {
    name: "readMenuSync",
    summary: "Read the progress and result of a sync",
    auth: "PARTNER",
    answers: { 200: SyncView },
  },
  async ({ partner, params }) => {
    const sync = found(await findPosSync(lookups, partner.id, params.id), "This sync");
    const { itemsArchived, unchanged, createdAt, settledAt } = sync;
    return ok({
      ...presentProgress(sync),
      itemsArchived,
      unchanged,
      errors: SyncErrors.parse(sync.errors),
      reason: reasonOf(sync),
      createdAt,
      settledAt,
    });
  },
);
