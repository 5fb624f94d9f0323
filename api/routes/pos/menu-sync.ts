import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { config } from "../../../lib/process/config.js";
import { conflict, notFound, unavailable, type ApiError } from "../../../lib/process/errors.js";
import { lookups, sql } from "../../../sql/db.js";
import { findPosSync, requestPosSync, type PosSyncRow } from "../../../sql/queries/pos-syncs.js";
import { awaitResult } from "../../../sql/signals.js";
import { ok, section } from "../../http/endpoint.js";
import { requireStanding } from "./connection.js";
import { Id, IdParams, Timestamp } from "../../http/schemas.js";

const RETRY_SECONDS = 60;

const SyncErrors = z.array(
  z.object({
    externalId: z.string().nullable(),
    name: z.string().nullable().default(null).meta({ description: "what the POS calls it, where that can be told" }),
    position: z
      .int()
      .nullable()
      .default(null)
      .meta({ description: "which entry of the POS's menu it is, or belongs to, from 1" }),
    message: z.string().meta({ example: "its price must be a number" }),
  }),
);

const SyncView = z
  .object({
    syncId: Id,
    status: z.enum(enums.posSyncStatus),
    progress: z
      .number()
      .nullable()
      .meta({ description: "0 to 1; null while nobody knows how long the menu is", example: 0.4 }),
    itemsSynced: z.int().meta({ example: 318 }),
    itemsFailed: z.int().meta({ example: 2 }),
    itemsArchived: z.int().meta({ description: "came from the POS before, and are gone there", example: 1 }),
    unchanged: z.boolean().meta({ description: "the POS says that its menu is as it was, and gave nothing" }),
    errors: SyncErrors.meta({ description: "what was wrong with single items, the first 200 or a few more" }),
    reason: z.string().nullable().meta({ description: "why it failed, or what it left undone", example: null }),
    createdAt: Timestamp,
    settledAt: Timestamp.nullable(),
  })
  .meta({ id: "MenuSync" });

/** Why a sync failed, or what it left undone, for its partner. */
function reasonOf({ failure, reason }: PosSyncRow): string | null {
  switch (failure) {
    case null:
      return reason && `All is as the POS has it, but ${reason}.`;
    case "REFUSED":
      return `The POS refuses the connection: ${reason ?? "no reason is given"}.`;
    case "UNAVAILABLE":
      return `The POS gives no answer just now: ${reason ?? "no reason is given"}.`;
    case "TOO_LARGE":
      return `The menu cannot be taken over: ${reason ?? "it is too long"}.`;
    case "EMPTY":
      return (
        "The menu that the POS sends is empty, which is more often its fault than meant: the items that came from it stay. " +
        "Archive them one by one if they are gone."
      );
    case "REPLACED":
      return "The connection to the POS was changed in the meantime.";
    case "ABANDONED":
      return "The sync was given up on our side.";
  }
}

function refusal(sync: PosSyncRow): ApiError {
  const reason = reasonOf(sync) ?? "";
  const members = { syncId: sync.id };
  return sync.failure === "UNAVAILABLE" || sync.failure === "ABANDONED"
    ? unavailable(reason, RETRY_SECONDS, members)
    : conflict(reason, members);
}

/** How far a sync is, by the number of items that the last one left. */
function progressOf({ status, itemsExpected, itemsSynced, itemsFailed }: PosSyncRow): number | null {
  if (status === "DONE") return 1;
  if (!itemsExpected) return status === "QUEUED" ? 0 : null;
  return Math.min(Math.round(((itemsSynced + itemsFailed) / itemsExpected) * 100) / 100, 0.99);
}

export const menuSync = section({ prefix: "/menu/pos/sync", tag: "Menu" });

menuSync.post(
  "/",
  {
    summary: "Take the menu over from the POS",
    description:
      "Items are matched by external id. New ones are added, those that came from the POS are changed, and archived when the POS " +
      "does not have them any more; what was made by hand or by CSV stays as it is. Items that cannot be taken over are left " +
      "out, and `GET /api/v1/menu/pos/sync/{syncId}` says which and why. A menu with nothing in it archives nothing: 409 " +
      "`CONFLICT`, where items came from the POS before. Whoever asks while a sync is open waits for " +
      "that one. When it takes longer the answer is 202, and `Location` has the result later. 409 `CONFLICT`: no POS is " +
      "connected, or it refuses the connection; 503 `UNAVAILABLE`: it gives no answer, and is asked again by and by; both have " +
      "the `syncId` too. It is " +
      "also done every 6 hours, and when the POS tells of a change; never for a partner that is suspended or rejected.",
    auth: "PARTNER",
    answers: {
      200: z.object({
        itemsSynced: z.int().meta({ example: 318 }),
        itemsFailed: z.int().meta({ example: 2 }),
        syncId: Id,
      }),
      202: z.object({ syncId: Id }),
    },
    errors: ["409 CONFLICT", "503 UNAVAILABLE"],
  },
  async ({ partner, gone, requestId }) => {
    requireStanding(partner);
    const syncId = await requestPosSync(sql, partner.id, { byUser: true, requestId });
    if (syncId === undefined) throw conflict("This partner is not connected to a POS.");
    const settled = await awaitResult(
      { name: "pos-sync", id: syncId, deadlineMs: config.SYNC_WAIT_MS, abort: gone },
      async () => {
        const sync = await findPosSync(lookups, partner.id, syncId);
        return sync?.settledAt ? sync : null;
      },
    );
    if (!settled)
      return { status: 202 as const, body: { syncId }, headers: { Location: `/api/v1/menu/pos/sync/${syncId}` } };
    if (settled.failure !== null) throw refusal(settled);
    const { itemsSynced, itemsFailed } = settled;
    return ok({ itemsSynced, itemsFailed, syncId });
  },
);

menuSync.get(
  "/:id",
  {
    summary: "Read how a sync of the own menu goes, or went",
    auth: "PARTNER",
    params: IdParams,
    answers: { 200: SyncView },
  },
  async ({ partner, params }) => {
    const sync = await findPosSync(lookups, partner.id, params.id);
    if (!sync) throw notFound("This sync");
    const { id, status, itemsSynced, itemsFailed, itemsArchived, unchanged, createdAt, settledAt } = sync;
    return ok({
      syncId: id,
      status,
      progress: progressOf(sync),
      itemsSynced,
      itemsFailed,
      itemsArchived,
      unchanged,
      errors: SyncErrors.parse(sync.errors),
      reason: reasonOf(sync),
      createdAt: createdAt.toISOString(),
      settledAt: settledAt?.toISOString() ?? null,
    });
  },
);
