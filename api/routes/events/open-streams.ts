import { randomInt } from "node:crypto";
import type { ServerResponse } from "node:http";
import { Counter, Gauge } from "prom-client";
import { describeError } from "../../../lib/process/describe-error.js";
import { log } from "../../../lib/process/log.js";
import { batches } from "../../../sql/db.js";
import { listHeldGrants, type StreamGrant } from "../../../sql/queries/streams.js";
import { registry } from "../../http/registry.js";
import { streamsFull, takePlace, type StreamCaller } from "./stream-places.js";

/** Proxies cut a connection that is silent for a minute; a client that hears nothing for three of these has lost it. */
export const HEARTBEAT_MS = 15_000;
/** How often it is asked whether users may still see what they follow. */
const CHECK_MS = 20_000;
/** A stream for which this was not found out for so long ends: a role that is revoked ends it within a minute. */
const UNCHECKED_MS = 55_000;
const CHECKED_AT_ONCE = 500;
/** How often heartbeats and ends are looked for. */
const SWEEP_MS = 1_000;
/** A client that leaves more unread, beyond what the system's buffers hold, is cut. */
const MOST_UNSENT_BYTES = 65_536;
/** So much may happen while a stream begins. */
const MOST_EARLY = 1_000;
/** How long a client may take for the last bytes of a stream that has ended. */
const DRAIN_MS = 5_000;
/** Clients come back after so long: at different times, as thousands may have lost the same process. */
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

/** What a stream shows. */
export type Topic = "partner" | "order" | "city";

/** A part of a stream: nothing, or whole messages. */
export interface Frame {
  /** Those of the log up to which a stream has begun are not sent again. */
  position: number;
  text: string;
}

export interface Terms {
  topic: Topic;
  id: string;
  /** Whose streams are counted together, and how many there may be. */
  caller: StreamCaller;
  /** What must stay true; null: anyone may follow. */
  grant: StreamGrant | null;
  /** When it ends, as `performance.now()` tells it. */
  endsAt: number;
  /** Returns up to which position of the log this topic was sent; null while the log is not read. */
  reached: () => number | null;
}

const open = new Set<OpenStream>();
const topics: Record<Topic, Map<string, Set<OpenStream>>> = { partner: new Map(), order: new Map(), city: new Map() };
const none: ReadonlySet<OpenStream> = new Set();

/** The streams that show this. */
export const streamsOf = (topic: Topic, id: string): ReadonlySet<OpenStream> => topics[topic].get(id) ?? none;

/** The ids that streams of this topic show. */
export const followedIds = (topic: Topic): string[] => [...topics[topic].keys()];

let timer: NodeJS.Timeout | undefined;
let checkBegan = 0;
let isStopping = false;

/** A client that follows something. It gets what happens from the moment this is made; `begin` gives it its response. */
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

  /** Takes a place and calls `follow`, whose result is called at the end; throws when there is no place. */
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

  /** Sends the first frame, and from then on what comes after it; without a response, or at its end, the place is free again. */
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

  /** Sends these frames, or keeps them until it begins. */
  take(frames: readonly Frame[]): void {
    if (this.#response !== null) this.#write(frames.map(({ text }) => text).join(""), performance.now());
    else if (this.#early !== null && this.#early.length + frames.length > MOST_EARLY) this.#early = null;
    else this.#early?.push(...frames);
  }

  /** Does what is due: ends it, cuts a client that does not take the end, or shows that the connection is alive. */
  sweep(now: number): void {
    if (this.#endedAt !== null) {
      if (now - this.#endedAt >= DRAIN_MS) this.#response?.destroy();
    } else if (now >= this.#terms.endsAt) this.end("expired", now);
    else if (this.grant !== null && now - this.checkedAt >= UNCHECKED_MS) this.end("unchecked", now);
    else if (this.#response !== null && now - this.#wroteAt >= HEARTBEAT_MS) {
      const reached = this.#terms.reached();
      // the position goes with it, so that who comes back later resumes from here
      this.#write(`:\nid: ${Math.max(this.#from, reached ?? 0)}\n\n`, now);
    }
  }

  /** Ends the response; the client comes back. */
  end(reason: Ending, now = performance.now()): void {
    if (this.#endedAt !== null) return;
    this.#endedAt = now;
    endings.inc({ reason });
    this.#forget();
    this.#response?.end();
  }

  /** Gives the place back, once the connection is closed or was never used. */
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

/** Sends the heartbeats that are due at this moment, and ends what has come to its end. */
export function sweepStreams(now = performance.now()): void {
  for (const stream of open) stream.sweep(now);
}

/** Ends the streams of users who may no longer see what they follow: one statement for hundreds of them. */
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

/** Ends every stream, as the process stops, and lets none begin: clients go on at another process. */
export function endStreams(): void {
  isStopping = true;
  for (const stream of open) stream.end("stopped");
}
