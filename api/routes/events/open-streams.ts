import { randomInt } from "node:crypto";
import type { ServerResponse } from "node:http";
import { Counter, Gauge } from "prom-client";
import { describeError } from "../../../lib/process/describe-error.js";
import { log } from "../../../lib/process/log.js";
import { batches } from "../../../sql/db.js";
import { listHeldGrants, type StreamGrant } from "../../../sql/queries/streams.js";
import { registry } from "../../http/registry.js";
import { streamsFull, takePlace, type StreamCaller } from "./stream-places.js";

/** Proxies close a connection that is silent for a minute. Clients reconnect after three heartbeats without a byte. */
export const HEARTBEAT_MS = 15_000;
/** Interval of the checks whether users may still see what they follow. */
const CHECK_MS = 20_000;
/** A stream without a successful check for this long ends, so a revoked role ends it within a minute. */
const UNCHECKED_MS = 55_000;
const CHECKED_AT_ONCE = 500;
/** Interval of the search for due heartbeats and expired streams. */
const SWEEP_MS = 1_000;
/** A client with more unread bytes, beyond the system's buffers, is disconnected. */
const MOST_UNSENT_BYTES = 65_536;
/** Frames that are buffered before a stream begins. */
const MOST_EARLY = 1_000;
/** Time for a client to read the last bytes of an ended stream. */
const DRAIN_MS = 5_000;
/** Range of the reconnection delay; it is random, because thousands of clients may have lost the same process. */
const RETRY_MS = { least: 1_000, most: 5_000 };

type Ending = "client" | "expired" | "revoked" | "slow" | "unchecked" | "stopped";

const openCount = new Gauge({
  name: "event_streams_open",
  help: "Live streams that are open.",
  aggregator: "sum",
  registers: [registry],
});
const endings = new Counter({
  name: "event_streams_ended_total",
  help: "Live streams that have ended, by what ended them.",
  labelNames: ["reason"],
  registers: [registry],
});

/** The kinds of streams. */
export type Topic = "partner" | "order" | "city";

/** A part of a stream: zero or more complete messages. */
export interface Frame {
  /** The last position in it. A stream skips frames up to the position of its first one. */
  position: number;
  text: string;
}

export interface Terms {
  topic: Topic;
  id: string;
  /** The caller that the stream counts for, with its limit. */
  caller: StreamCaller;
  /** The permission that must remain valid; null for public streams. */
  grant: StreamGrant | null;
  /** Its end, on the clock of `performance.now()`. */
  endsAt: number;
  /** Returns the position of the log up to which this topic was sent; null while the log is not read. */
  reached: () => number | null;
}

const open = new Set<OpenStream>();
const topics: Record<Topic, Map<string, Set<OpenStream>>> = { partner: new Map(), order: new Map(), city: new Map() };
const none: ReadonlySet<OpenStream> = new Set();

/** Returns the open streams of a topic. */
export const streamsOf = (topic: Topic, id: string): ReadonlySet<OpenStream> => topics[topic].get(id) ?? none;

/** Returns the ids that streams of this kind follow. */
export const followedIds = (topic: Topic): string[] => [...topics[topic].keys()];

let timer: NodeJS.Timeout | undefined;
let checkBegan = 0;
let isStopping = false;

/** A client's stream. It buffers frames from its construction on, and sends them once `begin` sets its response. */
export class OpenStream {
  readonly grant: StreamGrant | null;
  checkedAt = performance.now();
  readonly #terms: Terms;
  readonly #leave: () => void;
  #response: ServerResponse | null = null;
  #from = 0;
  #early: Frame[] | null = [];
  #wroteAt = 0;
  #endedAt: number | null = null;

  /** Takes a place and calls `follow`, whose result is called at the end. Throws when there is no place. */
  constructor(terms: Terms, follow: () => () => void) {
    if (isStopping) throw streamsFull();
    const leave = takePlace(terms.caller);
    const unfollow = follow();
    this.#terms = terms;
    this.grant = terms.grant;
    this.#leave = () => {
      leave();
      unfollow();
    };
    const { topic, id } = terms;
    const followers = topics[topic].get(id) ?? new Set();
    topics[topic].set(id, followers.add(this));
    open.add(this);
    openCount.inc();
    timer ??= setInterval(tick, SWEEP_MS).unref();
  }

  /** Sends the first frame and the buffered ones after it. Without a response, or when that closes, the place is released. */
  begin(response: ServerResponse | null, first: Frame): void {
    const early = this.#early;
    this.#early = [];
    if (response === null || early === null || this.#endedAt !== null) {
      response?.end();
      this.close("client");
      return;
    }
    this.#response = response;
    this.#from = first.position;
    response.once("close", () => this.close("client"));
    const later = early.filter(({ position }) => position > first.position).map(({ text }) => text);
    const retry = `retry: ${randomInt(RETRY_MS.least, RETRY_MS.most)}\n\n`;
    this.#write([retry, first.text, ...later].join(""), performance.now());
  }

  /** Sends frames, or buffers them until `begin`. */
  take(frames: readonly Frame[]): void {
    if (this.#response !== null) this.#write(frames.map(({ text }) => text).join(""), performance.now());
    else if (this.#early !== null && this.#early.length + frames.length > MOST_EARLY) this.#early = null;
    else this.#early?.push(...frames);
  }

  /** Ends an expired stream, disconnects a client that does not read the end, or sends a due heartbeat. */
  sweep(now: number): void {
    if (this.#endedAt !== null) {
      if (now - this.#endedAt >= DRAIN_MS) this.#response?.destroy();
    } else if (now >= this.#terms.endsAt) this.end("expired", now);
    else if (this.grant !== null && now - this.checkedAt >= UNCHECKED_MS) this.end("unchecked", now);
    else if (this.#response !== null && now - this.#wroteAt >= HEARTBEAT_MS) {
      const reached = this.#terms.reached();
      // with the position, so that a client resumes from here
      this.#write(`:\nid: ${Math.max(this.#from, reached ?? 0)}\n\n`, now);
    }
  }

  /** Ends the response; the client reconnects. */
  end(reason: Ending, now = performance.now()): void {
    if (this.#endedAt !== null) return;
    this.#endedAt = now;
    endings.inc({ reason });
    this.#forget();
    this.#response?.end();
  }

  /** Releases the place, once the connection is closed or was never used. */
  close(reason: Ending): void {
    if (!open.delete(this)) return;
    if (this.#endedAt === null) endings.inc({ reason });
    this.#endedAt ??= 0;
    this.#forget();
    this.#response = null;
    openCount.dec();
    this.#leave();
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  #forget(): void {
    const { topic, id } = this.#terms;
    const followers = topics[topic].get(id);
    followers?.delete(this);
    if (followers?.size === 0) topics[topic].delete(id);
  }

  #write(text: string, now: number): void {
    const response = this.#response;
    if (response === null || this.#endedAt !== null || text === "") return;
    if (response.writableLength > MOST_UNSENT_BYTES) {
      this.end("slow", now);
      response.destroy();
      return;
    }
    response.write(text);
    this.#wroteAt = now;
  }
}

/** Sends due heartbeats, and ends expired streams. */
export function sweepStreams(now = performance.now()): void {
  for (const stream of open) stream.sweep(now);
}

/** Ends the streams of users whose permission has ended, with one statement for hundreds of them. */
export async function checkStreams(now = performance.now()): Promise<void> {
  const granted = [...open].flatMap((stream) => (stream.grant === null ? [] : [{ stream, grant: stream.grant }]));
  while (granted.length > 0) {
    const some = granted.splice(0, CHECKED_AT_ONCE);
    const rows = await listHeldGrants(
      batches,
      some.map(({ grant }) => grant),
    );
    const held = new Set(rows.map(({ place }) => place));
    some.forEach(({ stream }, index) => {
      if (held.has(index + 1)) stream.checkedAt = now;
      else stream.end("revoked");
    });
  }
}

function tick(): void {
  const now = performance.now();
  sweepStreams(now);
  if (now - checkBegan < CHECK_MS) return;
  checkBegan = now;
  checkStreams(now).catch((error: unknown) =>
    log.warn({ error: describeError(error) }, "whether live streams may go on could not be found out"),
  );
}

/** Ends every stream and refuses new ones when the process stops: clients continue at another process. */
export function endStreams(): void {
  isStopping = true;
  for (const stream of open) stream.end("stopped");
}
