import type { z } from "zod";
import type { FieldError } from "../process/errors.js";
import type { PosChange } from "./event.js";

export type { PosChange };

/** An item of a POS menu, in the form of the marketplace's menu. */
export interface PosMenuItem {
  externalId: string;
  name: string;
  category: string;
  priceMinor: number;
  description: string | null;
  weightGrams: number | null;
  /** Null where the POS does not say: the item keeps its state, and a new one is on sale. */
  available: boolean | null;
}

/** An item of the POS that the menu cannot hold. */
export interface RejectedItem {
  externalId: string | null;
  /** The POS's name for it; null where it has none. */
  name: string | null;
  /** The position of its entry in the POS's menu, from 1. */
  position: number;
  /** What is wrong with it, without its values. */
  reason: string;
}

export interface MenuPage {
  /** Each id comes at most once in a pull. */
  items: readonly PosMenuItem[];
  rejected: readonly RejectedItem[];
}

/** The result of a complete pull. When `unchanged`, no items were sent. */
export type MenuEnd = { unchanged: true } | { unchanged: false; revision: string | null };

/** One partner's connection to their POS. */
export interface PosConnection {
  /** The name that the POS's events give this account. */
  readonly account: string;
  /** The origin of its address. */
  readonly origin: string;
  /** The partner's own webhook secret; null: the deployment's applies. */
  readonly webhookSecret: string | null;
  /** Asks the POS whether the credentials are valid; its refusal or outage is a result, not an error. */
  test(signal: AbortSignal): Promise<{ ok: boolean; message: string }>;
  /** Pulls the whole menu page by page, or nothing when it is still at `revision`. Throws PosUnavailable or PosRefused. */
  pullMenu(revision: string | null, signal: AbortSignal): AsyncGenerator<MenuPage, MenuEnd>;
}

/** The POS is unavailable: it is down, slow, or asks to wait. */
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

/** The POS is unavailable and sent no response. */
export class PosSilent extends PosUnavailable {}

/** The POS refuses these credentials, or its address may not be called: a retry changes nothing. */
export class PosRefused extends Error {
  override name = "PosRefused";
}

/** One event of a verified webhook call; `change` is null for events that are acknowledged and ignored. */
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

/** A verified call that is not as the provider documents. */
export class MalformedWebhook extends Error {
  override name = "MalformedWebhook";
  /** `errors` names what is wrong, without values. */
  constructor(readonly errors: readonly FieldError[]) {
    const fields = errors.map(({ path }) => path.split(".").filter((step) => !/^\d+$/.test(step)));
    const named = new Set(fields.map((steps) => steps.join(".") || "body"));
    super(`the event is not as documented: ${[...named].slice(0, 5).join(", ")}`);
  }
}

/** The adapter of one POS vendor. */
export interface PosAdapter {
  readonly name: string;
  readonly displayName: string;
  /** The vendor's one address for all partners, whose calls take the share of a known origin; null: each partner has a server. */
  readonly address: string | null;
  /** The schema of the credentials that `connect` takes. */
  readonly credentials: z.ZodType;
  /** Returns a connection with these credentials; throws ZodError when they are invalid. */
  connect(credentials: unknown): PosConnection;
  readonly webhook: {
    /** Returns the account that an unverified call names, without parsing its body; null when it names none. */
    account(call: WebhookCall): string | null;
    /** Whether the call has a current signature by one of the secrets; false without secrets. Never throws. */
    verify(call: WebhookCall, secrets: readonly string[], now: Date): boolean;
    /** Returns the events of a verified call, in their order; throws MalformedWebhook. */
    read(call: WebhookCall): readonly PosEvent[];
  };
}
