import { z } from "zod";
import { apiKeyDigest, apiKeyScopes, newApiKey } from "../../../lib/security/api-key.js";
import { sql, transaction } from "../../../sql/db.js";
import { deleteApiKey, insertApiKey, listApiKeys, lockApiKey } from "../../../sql/queries/api-keys.js";
import { stopWebhooksOfApiKey } from "../../../sql/queries/webhooks.js";
import { created, noContent, section } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { page, PageQuery } from "../../http/pagination.js";
import { Id, text, Timestamp } from "../../http/schemas.js";

const Scope = z.enum(apiKeyScopes);

export const apiKeys = section({ prefix: "/admin/api-keys", tag: "Service keys" });

apiKeys.post(
  "/",
  {
    name: "createServiceKey",
    summary: "Create a service key",
    description:
      "A bearer credential for a machine, valid until it is revoked. The key is shown only in this response.",
    auth: "ADMIN",
    body: z.object({
      name: text(100).meta({ description: "who holds it" }),
      scopes: z
        .array(Scope)
        .min(1)
        .max(10)
        .transform((scopes) => [...new Set(scopes)]),
    }),
    answers: { 201: z.object({ id: Id, name: z.string(), scopes: z.array(Scope), key: z.string() }) },
  },
  async ({ user, body: { name, scopes } }) => {
    const key = newApiKey();
    const id = await insertApiKey(sql, name, scopes, apiKeyDigest(key), user.id);
    return created({ id, name, scopes, key });
  },
);

apiKeys.get(
  "/",
  {
    name: "listServiceKeys",
    summary: "List the service keys, newest first",
    auth: "ADMIN",
    query: PageQuery,
    answers: {
      200: z.array(z.object({ id: Id, name: z.string(), scopes: z.array(Scope), createdAt: Timestamp })),
    },
  },
  ({ query, address }) =>
    page(
      address,
      query,
      (after, limit) => listApiKeys(sql, after, limit),
      (row) => ({ ...row, scopes: z.array(Scope).parse(row.scopes) }),
    ),
);

apiKeys.delete(
  "/:id",
  {
    name: "revokeServiceKey",
    summary: "Revoke a service key at once",
    description:
      "Also stops the webhook endpoints that were created with this key, because its holder chose their addresses. Only an operator can start them again.",
    auth: "ADMIN",
    answers: { 204: null },
  },
  async ({ user, params: { id } }) => {
    await transaction(async (tx) => {
      await lockApiKey(tx, id);
      await stopWebhooksOfApiKey(tx, id);
      if (!(await deleteApiKey(tx, id, user.id))) throw notFound("This service key");
    });
    return noContent();
  },
);
