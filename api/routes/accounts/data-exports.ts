import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { DOCUMENT_SECONDS, dataAddress, newFileName } from "../../../lib/storage/file-store.js";
import { formatWait } from "../../../lib/outbound/retry-after.js";
import { dataExport } from "../../../queues/index.js";
import { inTurn, lookups, transaction } from "../../../sql/db.js";
import { stageJob } from "../../../sql/outbox.js";
import {
  countDataExports,
  findDataExport,
  insertDataExport,
  lockDataExports,
  type DataExport,
} from "../../../sql/queries/data-exports.js";
import { accepted, found, ok, section } from "../../http/endpoint.js";
import { refusalWith } from "../../http/refusal.js";
import { notFound, retryFacts, sessionEnded } from "../../http/refusals.js";
import { Timestamp } from "../../http/schemas.js";

const EXPORTS_A_DAY = 3;
const path = "/users/me/export";

const exportsUsedUp = refusalWith(429, "RATE_LIMIT", "EXPORTS_USED_UP", {
  detail: `You have asked for your data ${EXPORTS_A_DAY} times within 24 hours.`,
  remedy: "Use the latest file, or ask again after `retryAfterSeconds`.",
  facts: retryFacts,
  example: { retryAfterSeconds: 43_200 },
});

const DataExportView = z
  .object({
    status: z.enum(enums.exportStatus).meta({
      description: "QUEUED: is being made; FAILED: could not be made, ask again later",
    }),
    url: z
      .url()
      .nullable()
      .meta({
        description: `the file, when it is READY; valid for ${formatWait(DOCUMENT_SECONDS)}: read the export again for a new one`,
      }),
    requestedAt: Timestamp,
    expiresAt: Timestamp.meta({ description: "when the file is deleted, or the request is given up" }),
  })
  .meta({ id: "DataExport" });

const present = ({ name, status, createdAt, expiresAt }: DataExport): z.output<typeof DataExportView> => ({
  status,
  url: status === "READY" ? dataAddress(name) : null,
  requestedAt: createdAt,
  expiresAt,
});

export const dataExports = section({ prefix: path, tag: "Users" });

dataExports.post(
  "/",
  {
    name: "requestDataExport",
    summary: "Ask for your own data as a file",
    description:
      "A worker writes what is stored about you into a JSON file, which only you get an address of, at `Location`. You are " +
      "notified when it is ready. It is deleted " +
      `after three days, or with your account. Asking again before it is made changes nothing; at most ${EXPORTS_A_DAY} are made in 24 hours.`,
    auth: "USER",
    answers: { 202: DataExportView },
    errors: [exportsUsedUp],
  },
  ({ user, requestId }) =>
    inTurn(`exports ${user.id}`, () =>
      transaction(async (tx) => {
        await lockDataExports(tx, user.id);
        const latest = await findDataExport(tx, user.id);
        if (latest?.status === "QUEUED") return accepted(present(latest), `/api/v1${path}`);
        const { exports, nextInSeconds } = await countDataExports(tx, user.id);
        if (exports >= EXPORTS_A_DAY) throw exportsUsedUp({ retryAfterSeconds: nextInSeconds });
        const begun = await insertDataExport(tx, user.id, newFileName());
        if (!begun) throw sessionEnded();
        await stageJob(tx, dataExport, { exportId: begun.id }, { requestId });
        return accepted(present(begun), `/api/v1${path}`);
      }),
    ),
);

dataExports.get(
  "/",
  {
    name: "readDataExport",
    summary: "Read the state and the address of your data's file",
    description: "404 when none was asked for, or it has been deleted.",
    auth: "USER",
    answers: { 200: DataExportView },
    errors: [notFound],
  },
  async ({ user }) => ok(present(found(await findDataExport(lookups, user.id), "Your data's file"))),
);
