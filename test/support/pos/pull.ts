import type { MenuEnd, PosConnection, PosMenuItem, RejectedItem, WebhookCall } from "../../../lib/pos/adapter.js";
import type { SignedCall } from "./vendor.js";

export interface Pulled {
  items: PosMenuItem[];
  rejected: RejectedItem[];
  pages: number;
  end: MenuEnd;
}

/** Pulls a whole menu. */
export async function pullAll(
  connection: PosConnection,
  revision: string | null = null,
  signal = new AbortController().signal,
): Promise<Pulled> {
  const items: PosMenuItem[] = [];
  const rejected: RejectedItem[] = [];
  const pull = connection.pullMenu(revision, signal);
  for (let pages = 0; ; pages += 1) {
    const { done, value } = await pull.next();
    if (done) return { items, rejected, pages, end: value };
    items.push(...value.items);
    rejected.push(...value.rejected);
  }
}

/** A received call; `headers` and `body` replace the signed ones. */
export const received = (
  { headers, body }: SignedCall,
  other: { headers?: WebhookCall["headers"]; body?: string | Buffer } = {},
): WebhookCall => ({
  headers: { ...headers, ...other.headers },
  body: Buffer.from(other.body ?? body),
});
