import { config } from "../../../lib/process/config.js";
import { decryptEnvelope } from "../../../lib/security/envelope.js";
import type { PosAdapter } from "../../../lib/pos/adapter.js";
import { lookups } from "../../../sql/db.js";
import {
  findPosAccount,
  POS_CREDENTIALS_CHANGED,
  posCredentialsContext,
} from "../../../sql/queries/pos-credentials.js";
import { onSignal } from "../../../sql/signals.js";
import { ShortCache } from "../../http/short-cache.js";

/** Changed credentials are heard of at once; this is for a signal that is lost. */
const KEPT_MS = 5_000;
const MOST_KEPT = 10_000;
const MOST_OF_AN_ACCOUNT = 500;

/** Whose an account is, and with which secrets its calls may be signed. */
export interface Trust {
  /** Null when the account is nobody's here. */
  readonly partnerId: string | null;
  readonly secrets: readonly string[];
}

const newCache = () => new ShortCache<Trust>(KEPT_MS, MOST_KEPT);
let cache = newCache();
let listening = false;

function listen(): void {
  if (listening) return;
  listening = true;
  onSignal(POS_CREDENTIALS_CHANGED, forgetTrust);
}

/** What is known of accounts may be out of date. */
export function forgetTrust(): void {
  cache = newCache();
}

async function findTrust(adapter: PosAdapter, account: string): Promise<Trust> {
  const deployments = config.POS_WEBHOOK_SECRETS[adapter.name] ?? [];
  const known = await findPosAccount(lookups, adapter.name, account);
  if (!known) return { partnerId: null, secrets: deployments };
  const { partnerId, sealed } = known;
  const credentials: unknown = JSON.parse(decryptEnvelope(sealed, posCredentialsContext(partnerId)));
  const { webhookSecret } = adapter.connect(credentials);
  return { partnerId, secrets: webhookSecret === null ? deployments : [webhookSecret] };
}

/** Finds out whom to trust for an account's events: the partner's own secret where they have one, else the deployment's. */
export async function trustOf(adapter: PosAdapter, account: string | null): Promise<Trust> {
  // no account of ours is so, and Postgres could not be asked for it
  if (account === null || account.length > MOST_OF_AN_ACCOUNT || account.includes("\u0000") || !account.isWellFormed())
    return { partnerId: null, secrets: config.POS_WEBHOOK_SECRETS[adapter.name] ?? [] };
  listen();
  return cache.get(`${adapter.name} ${account}`, () => findTrust(adapter, account));
}
