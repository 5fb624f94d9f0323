import { z } from "zod";
import { encryptEnvelope } from "../../../lib/security/envelope.js";
import { describeError } from "../../../lib/process/describe-error.js";
import { adapters } from "../../../lib/pos/index.js";
import { isUniqueViolation, transaction } from "../../../sql/db.js";
import { posCredentialsContext, updatePosCredentials } from "../../../sql/queries/pos-credentials.js";
import { disconnectPos } from "../../common/operate.js";
import { noContent, ok, section } from "../../http/endpoint.js";
import { clearWebhookAccounts } from "./secrets.js";
import {
  AdapterName,
  CredentialsJson,
  invalidCredentials,
  partnerBlocked,
  readCredentials,
  refuseBlockedPartner,
} from "./connection.js";
import { refusal } from "../../http/refusal.js";
import { notFound } from "../../http/refusals.js";
import { Id } from "../../http/schemas.js";

const TEST_LIMIT_MS = 15_000;
const TESTS_PER_MINUTE = 60;

const supported = adapters.map(({ name, displayName, credentials }) => ({
  name,
  displayName,
  webhooks: true,
  credentialsSchema: z.toJSONSchema(credentials, { io: "input" }),
}));

const posAccountTaken = refusal(
  409,
  "CONFLICT",
  "POS_ACCOUNT_TAKEN",
  "Another partner is connected to this account of the POS.",
  "Disconnect the other partner first, or use another account.",
);

export const pos = section({ prefix: "/pos", tag: "POS" });

pos.get(
  "/adapters",
  {
    name: "listPosAdapters",
    summary: "List the POS systems that can be connected",
    auth: "PARTNER_OR_ADMIN",
    answers: {
      200: z.array(
        z
          .object({
            name: z.string(),
            displayName: z.string(),
            webhooks: z
              .boolean()
              .meta({ description: "whether its events are accepted at `POST /pos/webhooks/{name}`" }),
            credentialsSchema: z
              .record(z.string(), z.unknown())
              .meta({ description: "JSON Schema of `credentialsJson`" }),
          })
          .meta({ id: "PosAdapter" }),
      ),
    },
  },
  () => Promise.resolve(ok(supported)),
);

pos.put(
  "/credentials",
  {
    name: "connectPos",
    summary: "Connect a partner to its POS",
    description:
      "Replaces an earlier connection. The credentials are stored encrypted and never shown; a sync that runs with earlier " +
      "ones starts again. 409 `CONFLICT`: another partner has this account.",
    auth: "ADMIN",
    body: z.object({ partnerId: Id, adapterName: AdapterName, credentialsJson: CredentialsJson }),
    answers: { 200: z.object({ partnerId: Id, adapterName: z.string() }) },
    errors: [invalidCredentials, notFound, posAccountTaken],
  },
  async ({ user, body, requestId }) => {
    const { partnerId } = body;
    const { adapter, connection, json } = readCredentials(body.adapterName, body.credentialsJson);
    const encrypted = encryptEnvelope(json, posCredentialsContext(partnerId));
    const credentials = { partnerId, adapter: adapter.name, account: connection.account, encrypted };
    const saved = await transaction((tx) => updatePosCredentials(tx, credentials, user.id, requestId)).catch(
      (error: unknown) => {
        if (isUniqueViolation(error, "pos_credentials_by_account")) throw posAccountTaken();
        throw error;
      },
    );
    if (!saved) throw notFound("This partner");
    clearWebhookAccounts();
    return ok({ partnerId, adapterName: adapter.name });
  },
);

pos.delete(
  "/credentials/:partnerId",
  {
    name: "disconnectPos",
    summary: "Disconnect a partner from its POS",
    description:
      "Deletes the credentials; later events of the POS are ignored. The menu stays unchanged, and its items can be changed " +
      "and archived like any others.",
    auth: "ADMIN",
    answers: { 204: null },
    errors: [notFound],
  },
  async ({ user, params: { partnerId }, requestId }) => {
    if (!(await disconnectPos(partnerId, { actorId: user.id, why: null }, requestId)))
      throw notFound("A connection of this partner");
    clearWebhookAccounts();
    return noContent();
  },
);

pos.post(
  "/test-connection",
  {
    name: "testPosConnection",
    summary: "Test credentials",
    description:
      "Calls the POS with the credentials and saves nothing. Not for a partner that is suspended or rejected.",
    auth: "PARTNER_OR_ADMIN",
    limit: { name: "pos connection tests", perMinute: TESTS_PER_MINUTE },
    waits: true,
    body: z.object({ adapterName: AdapterName, credentialsJson: CredentialsJson }),
    answers: { 200: z.object({ ok: z.boolean(), message: z.string() }) },
    errors: [invalidCredentials, partnerBlocked],
  },
  async ({ partner, body, gone, log }) => {
    refuseBlockedPartner(partner);
    const { adapter, connection } = readCredentials(body.adapterName, body.credentialsJson);
    const abort = AbortSignal.any([gone, AbortSignal.timeout(TEST_LIMIT_MS)]);
    try {
      const { ok: works, message } = await connection.test(abort);
      return ok({ ok: works, message });
    } catch (error) {
      log.warn({ adapter: adapter.name, error: describeError(error) }, "the test of a POS connection failed");
      return ok({ ok: false, message: "The POS did not answer." });
    }
  },
);
