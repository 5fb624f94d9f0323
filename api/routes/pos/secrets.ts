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

/** A signal clears the cache when credentials change; this bounds the delay when a signal is lost. */
const KEPT_MS = 5_000;
const MOST_KEPT = 10_000;
const MOST_OF_AN_ACCOUNT = 500;

/** The partner of a POS account, and the secrets that may sign its webhooks. */
export interface WebhookAccount {
  /** Null when no partner is connected to the account. */
  readonly partnerId: string | null;
  readonly secrets: readonly string[];
}

const newCache = () => new ShortCache<WebhookAccount>(KEPT_MS, MOST_KEPT);
let cache = newCache();
let listening = false;

function listen(): void {
  if (listening) return;
  listening = true;
  onSignal(POS_CREDENTIALS_CHANGED, clearWebhookAccounts);
}

/** Empties the cache, after a change of credentials. */
export function clearWebhookAccounts(): void {
  cache = newCache();
}

async function loadAccount(adapter: PosAdapter, account: string): Promise<WebhookAccount> {
  const deployments = config.POS_WEBHOOK_SECRETS[adapter.name] ?? [];
  const known = await findPosAccount(lookups, adapter.name, account);
  if (!known) return { partnerId: null, secrets: deployments };
  const { partnerId, encrypted } = known;
  const credentials: unknown = JSON.parse(decryptEnvelope(encrypted, posCredentialsContext(partnerId)));
  const { webhookSecret } = adapter.connect(credentials);
  return { partnerId, secrets: webhookSecret === null ? deployments : [webhookSecret] };
}

/** Finds the partner and secrets of an account: the partner's own secret if the credentials have one, else the deployment's. */
export async function findWebhookAccount(adapter: PosAdapter, account: string | null): Promise<WebhookAccount> {
  // no stored account looks like this, and Postgres would reject the query
  if (account === null || account.length > MOST_OF_AN_ACCOUNT || account.includes("\u0000") || !account.isWellFormed())
    return { partnerId: null, secrets: config.POS_WEBHOOK_SECRETS[adapter.name] ?? [] };
  listen();
  return cache.get(`${adapter.name} ${account}`, () => loadAccount(adapter, account));
}
