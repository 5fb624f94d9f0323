import "./configured.js";
import { currentKeyId } from "../lib/security/crypto.js";
import { rewrapEnvelope } from "../lib/security/envelope.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { closeDatabase, sql } from "../sql/db.js";
import {
  countCredentialsUnderOtherKeys,
  listCredentialsUnderOtherKeys,
  posCredentialsContext,
  updateEncryptedCredentials,
  type EncryptedCredentials,
} from "../sql/queries/pos-credentials.js";
import {
  countWebhookSecretsUnderOtherKeys,
  listWebhookSecretsUnderOtherKeys,
  updateEncryptedWebhookSecrets,
  webhookSecretContext,
  type EncryptedWebhookSecrets,
} from "../sql/queries/webhooks.js";
import { withProgress } from "./progress-bar.js";

/**
 * Encrypts credentials, and secrets of webhooks, that are under another key with the first of CREDENTIALS_KEYS, while the
 * service runs. It can be stopped and run again at any time. What changes meanwhile is encrypted under the first key anyway.
 */

const BATCH = 500;

function rewrap({ partnerId, encrypted }: EncryptedCredentials): string | null {
  try {
    return rewrapEnvelope(encrypted, posCredentialsContext(partnerId));
  } catch {
    return null;
  }
}

const keyId = currentKeyId();
let done = 0;
const unreadable: string[] = [];
await withProgress("credentials", async (report) => {
  const total = await countCredentialsUnderOtherKeys(sql, keyId);
  let after: string | null = null;
  let seen = 0;
  for (let rows = BATCH; rows === BATCH;) {
    const batch: readonly EncryptedCredentials[] = await listCredentialsUnderOtherKeys(sql, keyId, after, BATCH);
    for (const credentials of batch) {
      const rewrapped = rewrap(credentials);
      if (rewrapped === null) unreadable.push(credentials.partnerId);
      else if (await updateEncryptedCredentials(sql, credentials, rewrapped)) done += 1;
      seen += 1;
      report(seen, total);
    }
    after = batch.at(-1)?.partnerId ?? null;
    rows = batch.length;
  }
});

/** The secrets under the present key; null when one cannot be decrypted. */
function rewrapSecrets({ id, secret, oldSecret }: EncryptedWebhookSecrets) {
  try {
    const context = webhookSecretContext(id);
    return {
      secret: rewrapEnvelope(secret, context),
      oldSecret: oldSecret === null ? null : rewrapEnvelope(oldSecret, context),
    };
  } catch {
    return null;
  }
}

let rotated = 0;
await withProgress("webhook secrets", async (report) => {
  const total = await countWebhookSecretsUnderOtherKeys(sql, keyId);
  let after: string | null = null;
  let seen = 0;
  for (let rows = BATCH; rows === BATCH;) {
    const batch: readonly EncryptedWebhookSecrets[] = await listWebhookSecretsUnderOtherKeys(sql, keyId, after, BATCH);
    for (const secrets of batch) {
      const rewrapped = rewrapSecrets(secrets);
      if (rewrapped === null) unreadable.push(`webhook endpoint ${secrets.id}`);
      else if (await updateEncryptedWebhookSecrets(sql, secrets, rewrapped)) rotated += 1;
      seen += 1;
      report(seen, total);
    }
    after = batch.at(-1)?.id ?? null;
    rows = batch.length;
  }
});
await closeDatabase();
if (rotated > 0) process.stdout.write(`${rotated} webhook endpoints have their secrets under ${keyId} now.\n`);
if (done > 0) {
  const whose = done === 1 ? "partner's" : "partners'";
  process.stdout.write(`${done} ${whose} credentials are now encrypted under ${keyId}.\n`);
} else if (unreadable.length === 0 && rotated === 0) {
  process.stdout.write(`There is nothing to rotate: all credentials are encrypted under ${keyId}.\n`);
}
if (unreadable.length > 0) {
  const some = unreadable.slice(0, 10).join(", ");
  exitWithLine(`${unreadable.length} cannot be decrypted with any of CREDENTIALS_KEYS; enter them again: ${some}`);
}
