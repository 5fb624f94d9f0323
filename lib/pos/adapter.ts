import type { z } from "zod";
import type { FieldError } from "../process/errors.js";

/** An item of a POS menu, as our menu keeps it. */
export interface PosMenuItem {
  externalId: string;
  name: string;
  category: string;
  priceMinor: number;
  description: string | null;
  weightGrams: number | null;
  /** Null where the POS does not say: it stays as it is, and a new item is on sale. */
  available: boolean | null;
}

/** An item that the POS gave and our menu cannot keep. */
export interface RejectedItem {
  externalId: string | null;
  /** What the POS calls it; null where that cannot be told. */
  name: string | null;
  /** Which entry of the POS's menu it is, or belongs to, from 1. */
  position: number;
  /** What is wrong with it, without its values. */
  reason: string;
}

export interface MenuPage {
  items: readonly PosMenuItem[];
  rejected: readonly RejectedItem[];
}

/** How a complete pull ended: `unchanged` says nothing of what is gone. */
export type MenuEnd = { unchanged: true } | { unchanged: false; revision: string | null };

/** One partner's connection to their POS. */
export interface PosConnection {
  /** The name that the POS's events give this account. */
  readonly account: string;
  /** The partner's own webhook secret; null where the deployment's counts. */
  readonly webhookSecret: string | null;
  /** Asks the POS whether the credentials hold; never throws for what the POS answers. */
  test(signal: AbortSignal): Promise<{ ok: boolean; message: string }>;
  /** Pulls the whole menu page by page, or nothing when it is still at `revision`. Throws PosUnavailable or PosRefused. */
  pullMenu(revision: string | null, signal: AbortSignal): AsyncGenerator<MenuPage, MenuEnd>;
}

/** The POS gives no answer now: it is down, slow, or asks for patience. */
export class PosUnavailable extends Error {
  override name = "PosUnavailable";
  constructor(
    message: string,
    /** How long the POS asks to wait; null when it does not say. */
    readonly retryAfterSeconds: number | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The POS refuses these credentials, or its address may not be called: trying again changes nothing. */
export class PosRefused extends Error {
  override name = "PosRefused";
}

export type PosChange =
  | { kind: "menu.updated" }
  | { kind: "item.availability"; items: readonly { externalId: string; available: boolean }[] }
  | {
      kind: "order.created";
      items: readonly { externalId: string; qty: number }[];
      totalMinor: number;
      customerPhone: string | null;
      address: string | null;
    }
  | { kind: "order.status"; orderExternalId: string; status: string };

/** One event of a verified webhook call; `change` is null for what we know of and do nothing about. */
export interface PosEvent {
  /** Unique within the provider and the account; the same for every delivery of the event. See `orderNumberOf` for an order's. */
  id: string;
  account: string;
  change: PosChange | null;
}

/** A webhook call as it came in. */
export interface WebhookCall {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

/** A verified call that is not what the provider documents. */
export class MalformedWebhook extends Error {
  override name = "MalformedWebhook";
  /** `errors` names what is wrong, without values. */
  constructor(readonly errors: readonly FieldError[]) {
    const fields = errors.map(({ path }) => path.split(".").filter((step) => !/^\d+$/.test(step)));
    const named = new Set(fields.map((steps) => steps.join(".") || "body"));
    super(`the event is not as documented: ${[...named].slice(0, 5).join(", ")}`);
  }
}

/** What we know of one POS vendor. */
export interface PosAdapter {
  readonly name: string;
  readonly displayName: string;
  /** What `connect` takes. */
  readonly credentials: z.ZodType;
  /** Opens a connection with parsed credentials; throws a ZodError for others. */
  connect(credentials: unknown): PosConnection;
  readonly webhook: {
    /** The account that a call claims to be of, before it is verified; null when none can be read. */
    account(call: WebhookCall): string | null;
    /** Whether the call is signed with one of the secrets, now. Never throws; no secret means no. */
    verify(call: WebhookCall, secrets: readonly string[], now: Date): boolean;
    /** Reads the events of a verified call, in their order; throws MalformedWebhook. */
    read(call: WebhookCall): readonly PosEvent[];
  };
}
