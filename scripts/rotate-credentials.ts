import "./environment.js";
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
 * Seals anew, under the first of CREDENTIALS_KEYS, what is kept under another one, while the service runs. It may be
 * stopped and begun again at any time; what somebody changes meanwhile is sealed under the first key by that.
 */

const BATCH = 500;

if (process.argv.length > 2) exitWithLine("Usage: npm run rotate-credentials");

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
  process.stdout.write(`${done} ${whose} credentials are sealed anew under ${keyId}.\n`);
} else if (unreadable.length === 0) {
  process.stdout.write(`There is nothing to rotate: no credentials are sealed under another key than ${keyId}.\n`);
}
if (unreadable.length > 0) {
  const some = unreadable.slice(0, 10).join(", ");
  exitWithLine(`${unreadable.length} cannot be opened with any of CREDENTIALS_KEYS; enter them again: ${some}`);
}
