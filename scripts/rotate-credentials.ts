import "./configured.js";
import { currentKeyId } from "../lib/security/crypto.js";
import { rewrapEnvelope } from "../lib/security/envelope.js";
import { exitWithLine } from "../lib/process/lifecycle.js";
import { closeDatabase, sql } from "../sql/db.js";
import {
  listCredentialsUnderOtherKeys,
  posCredentialsContext,
  updateEncryptedCredentials,
  type EncryptedCredentials,
} from "../sql/queries/pos-credentials.js";

/**
 * Encrypts credentials that are under another key with the first of CREDENTIALS_KEYS, while the service runs. It can be
 * stopped and run again at any time. Credentials that change meanwhile are encrypted under the first key anyway.
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
let after: string | null = null;
for (;;) {
  const batch: readonly EncryptedCredentials[] = await listCredentialsUnderOtherKeys(sql, keyId, after, BATCH);
  for (const credentials of batch) {
    const rewrapped = rewrap(credentials);
    if (rewrapped === null) unreadable.push(credentials.partnerId);
    else if (await updateEncryptedCredentials(sql, credentials, rewrapped)) done += 1;
  }
  after = batch.at(-1)?.partnerId ?? null;
  if (batch.length < BATCH) break;
}
await closeDatabase();
if (done > 0) {
  const whose = done === 1 ? "partner's" : "partners'";
  process.stdout.write(`${done} ${whose} credentials are now encrypted under ${keyId}.\n`);
} else if (unreadable.length === 0) {
  process.stdout.write(`There is nothing to rotate: all credentials are encrypted under ${keyId}.\n`);
}
if (unreadable.length > 0) {
  const some = unreadable.slice(0, 10).join(", ");
  exitWithLine(`${unreadable.length} cannot be decrypted with any of CREDENTIALS_KEYS; enter them again: ${some}`);
}
