import { setTimeout as delay } from "node:timers/promises";

/** The shares of a queue's slots that calls may take. */
const SHARES = {
  /** Calls to one known origin. */
  known: 3 / 4,
  /** Calls to all other origins together: clients may invent as many as they like. */
  others: 1 / 2,
  /** Calls to those of them that did not answer their last call promptly, or were never called. */
  unproven: 1 / 4,
  /** Calls to one of them, and calls to them for one user or partner. */
  one: 1 / 8,
};
export type Shares = Readonly<typeof SHARES>;
/** For a queue that calls no known origin. */
export const SHARES_OF_OTHERS: Shares = { ...SHARES, others: 1, unproven: 3 / 4 };
/** An answer that takes longer proves nothing: an origin may answer its calls, and yet hold slots on purpose. */
const PROMPT_MS = 5_000;
/** An origin is paused when it did not answer this many calls in a row. */
const MOST_UNANSWERED = 5;
/** The first pause; each further one is twice as long, up to the longest. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 30_000;
/** How long a call is expected to take before one has ended. */
const FIRST_CALL_MS = 200;
/** Callers that find no place should come back one after the other, within this time. */
const LONGEST_QUEUE_MS = 120_000;
const LONGEST_STEP_MS = 10_000;
/** A caller waits this long in its slot, since coming back later costs more. */
const SHORT_WAIT_MS = 250;
/** Clients can invent origins, so those that were not called for the longest time are forgotten. */
const MOST_ORIGINS = 1_000;

interface Call {
  readonly since: number;
}

/** A limit on the calls that are open at once. */
class Gate {
  /** The open calls, oldest first. */
  readonly calls = new Set<Call>();
  /** No call may begin earlier. */
  opensAt = 0;
  #callMs = FIRST_CALL_MS;
  #lastTurn = 0;

  constructor(public limit: number) {}

  /** How many calls are open at once when those that wait come back. */
  protected get width(): number {
    return this.limit;
  }

  isClosed(now: number): boolean {
    return this.calls.size >= this.limit || now < this.opensAt;
  }

  /** @param isTypical whether its duration says how long others will take */
  end(call: Call, isTypical: boolean, now: number): void {
    this.calls.delete(call);
    if (isTypical) this.#callMs = Math.max(1, (this.#callMs * 3 + now - call.since) / 4);
  }

  /** Returns how long a caller should wait: turns follow each other as fast as calls end. */
  queue(now: number): number {
    const from = Math.max(now, this.opensAt);
    const [oldest] = this.calls;
    const callMs = Math.max(this.#callMs, oldest ? now - oldest.since : 0);
    const step = Math.min(callMs / this.width, LONGEST_STEP_MS);
    const ahead = Math.max(this.#lastTurn - from, 0) + step;
    // a queue that is too long begins again at its front, and its callers remain spread
    this.#lastTurn = from + (ahead > LONGEST_QUEUE_MS ? step : ahead);
    return this.#lastTurn - now;
  }
}

/** The limit of one origin, with a circuit breaker: after a pause one call at a time shows whether it answers again. */
class Origin extends Gate {
  /** Whether it answered its last call promptly. */
  proven = false;
  /** When its first pause began; null when it has answered since. */
  pausedSince: number | null = null;
  #unanswered = 0;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(
    readonly known: boolean,
    private share: number,
  ) {
    super(share);
  }

  resize(share: number): void {
    if (this.pausedSince === null) this.limit = share;
    this.share = share;
  }

  // A known service is expected to answer again as it did: who waits for it comes back soon after its pause. Clients may keep others
  // silent on purpose, so their callers come back one by one.
  protected override get width(): number {
    return this.known ? this.share : this.limit;
  }

  record({ since }: Call, answered: boolean, now: number): void {
    this.proven = answered && now - since <= PROMPT_MS;
    if (answered) {
      this.#unanswered = 0;
      this.#pauseMs = FIRST_PAUSE_MS;
      this.limit = this.share;
      this.opensAt = 0;
      this.pausedSince = null;
      return;
    }
    this.#unanswered += 1;
    // calls that were open together fail together, which is one reason to pause
    if (this.#unanswered < MOST_UNANSWERED || now < this.opensAt) return;
    this.limit = 1;
    this.pausedSince ??= now;
    this.opensAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Whom a call goes to, and the user or partner for whom it is made. */
export interface Caller {
  readonly origin: string;
  readonly owner: string;
}

/** An origin that does not answer: until `until` it is not called, and then by one call at a time, until it answers. */
export interface PausedOrigin {
  origin: string;
  since: number;
  until: number;
}

/** A place for one call. */
export interface Place {
  /** Ends the call; `answered` is false when the origin sent no response. */
  leave(answered: boolean, now?: number): void;
}

/** There is no place for a call now. */
export class Busy {
  constructor(readonly waitMs: number) {}

  /** When to ask again. */
  get until(): Date {
    return new Date(Date.now() + this.waitMs);
  }
}

/**
 * Keeps third parties that do not answer from taking every slot of a queue: calls to one origin, for one owner, and to origins
 * that are not known have shares of the slots, and an origin that never answers is not called for a while. Times are those of
 * `performance.now()`.
 */
export class Bulkhead {
  readonly #origins = new Map<string, Origin>();
  readonly #owners = new Map<string, Gate>();
  readonly #others: Gate;
  readonly #unproven: Gate;

  /** @param isKnown whether an origin is one that clients cannot invent; only such origins get a large share */
  constructor(
    private slots: number,
    private readonly isKnown: (origin: string) => boolean,
    private readonly shares: Shares = SHARES,
  ) {
    this.#others = new Gate(this.#share("others"));
    this.#unproven = new Gate(this.#share("unproven"));
  }

  #share(of: keyof Shares): number {
    return Math.ceil(this.slots * this.shares[of]);
  }

  #shareOf = (known: boolean): number => this.#share(known ? "known" : "one");

  #newOrigin(name: string): Origin {
    const known = this.isKnown(name);
    return new Origin(known, this.#shareOf(known));
  }

  /** Shares so many slots from now on. */
  resize(slots: number): void {
    if (slots === this.slots) return;
    this.slots = slots;
    this.#others.limit = this.#share("others");
    this.#unproven.limit = this.#share("unproven");
    for (const origin of this.#origins.values()) origin.resize(this.#shareOf(origin.known));
  }

  /** Returns up to `most` of the origins that are paused, the known ones first. */
  paused(most: number): PausedOrigin[] {
    return [...this.#origins]
      .toSorted(([, a], [, b]) => Number(b.known) - Number(a.known))
      .flatMap(([origin, { pausedSince, opensAt }]) =>
        pausedSince === null ? [] : [{ origin, since: pausedSince, until: opensAt }],
      )
      .slice(0, most);
  }

  /** Takes a place for a call. */
  enter({ origin: name, owner }: Caller, now: number): Place | Busy {
    const origin = this.#origins.get(name) ?? this.#newOrigin(name);
    const ofOwner = this.#owners.get(owner) ?? new Gate(this.#share("one"));
    const gates: Gate[] = [origin];
    if (!origin.known) gates.push(ofOwner, this.#others);
    if (!origin.known && !origin.proven) gates.push(this.#unproven);
    const closed = gates.filter((gate) => gate.isClosed(now));
    if (closed.length > 0) return new Busy(Math.max(...closed.map((gate) => gate.queue(now))));

    this.#remember(name, origin);
    if (!origin.known) this.#owners.set(owner, ofOwner);
    const call = { since: now };
    for (const gate of gates) gate.calls.add(call);
    return {
      leave: (answered, at = performance.now()) => {
        for (const gate of gates) gate.end(call, answered || !origin.known, at);
        if (!origin.known && ofOwner.calls.size === 0) this.#owners.delete(owner);
        origin.record(call, answered, at);
      },
    };
  }

  #remember(name: string, origin: Origin): void {
    this.#origins.delete(name);
    this.#origins.set(name, origin);
    if (this.#origins.size <= MOST_ORIGINS) return;
    for (const [oldest, { calls }] of this.#origins) {
      if (calls.size > 0) continue;
      this.#origins.delete(oldest);
      return;
    }
  }
}

/** Takes a place for a call, after a short wait at most. */
export async function takePlace(bulkhead: Bulkhead, caller: Caller): Promise<Place | Busy> {
  const patientUntil = performance.now() + SHORT_WAIT_MS;
  for (;;) {
    const now = performance.now();
    const entry = bulkhead.enter(caller, now);
    if (!(entry instanceof Busy) || now + entry.waitMs > patientUntil) return entry;
    await delay(entry.waitMs);
  }
}
