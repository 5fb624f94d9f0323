import { done, refusalOf, Refused } from "./answers.js";
import { listEvents, type EventPage } from "./operations.js";
import { pause } from "./repeating.js";
import { readMessages } from "./server-sent-events.js";
import type { Session } from "./session.js";

/** Asks the app to read the current state; later changes follow. */
export interface Started {
  type: "start";
  /** Null when polling. */
  position: number | null;
}

/** An event of an order or a box of a partner. */
export type PartnerEvent = Extract<EventPage["events"][number], { type: `order.${string}` | `box.${string}` }>;

/** The status of an order has changed. */
export interface OrderChange {
  type: `order.${string}`;
  position: number;
  orderId: string;
  status: string;
  at: string;
}

/** The quantities of these boxes that can be ordered now. */
export interface Availability {
  type: "availability";
  position: number;
  boxes: { boxId: string; partnerId: string; quantityAvailable: number }[];
}

export interface FollowOptions {
  /** Ends the loop without an error. */
  signal?: AbortSignal;
  /** The last `position` that the app has processed. */
  after?: number;
  /** Interval of `start` when polling. A partner's events are polled from the log instead. */
  pollSeconds?: number;
}

/** Three heartbeats: without a byte for this long the connection is lost. */
const SILENCE_MS = 45_000;
/** A stream begins at once: without a byte for this long a proxy buffers it. */
const BEGIN_MS = 10_000;
/** Delay of the next poll after a lost connection or a busy API. */
const BUSY_MS = 3_000;
/** Duration of polling before a stream is tried again. */
const POLL_MS = 300_000;

type Poll<Message> = (after: number | null, until: number) => AsyncGenerator<Message | Started, void, undefined>;

/** Reads one stream until it ends; returns whether streams work here. */
async function* readOnce(path: string, session: Session, after: number | null, signal: AbortSignal | undefined) {
  const connection = new AbortController();
  const stop = () => connection.abort();
  signal?.addEventListener("abort", stop, { once: true });
  let timer = setTimeout(stop, BEGIN_MS);
  let retryMs = 3_000;
  let works = false;
  try {
    const headers = { accept: "text/event-stream", ...(after !== null && { "last-event-id": String(after) }) };
    const answer = await session.fetch(session.baseUrl + path, { headers, signal: connection.signal });
    if (answer.status === 429 || answer.status === 503) {
      await answer.body?.cancel();
      return { works, retryMs };
    }
    if (!answer.ok) throw refusalOf({ status: answer.status, data: await answer.json().catch(() => null) });
    // React Native's fetch has no streaming: its body would arrive when the stream has ended
    if (answer.body === null || !answer.headers.get("content-type")?.startsWith("text/event-stream")) {
      connection.abort();
      return { works, retryMs };
    }
    for await (const message of readMessages(answer.body)) {
      works = true;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      retryMs = message.retryMs ?? retryMs;
      yield message;
    }
  } catch (error) {
    if (error instanceof Refused) throw error;
    // the connection was lost or aborted: open it again
    if (!connection.signal.aborted) works = true;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    connection.abort();
  }
  return { works, retryMs };
}

/** Follows a stream over successive connections, and polls for a while where streams do not work. */
async function* follow<Message extends { position: number }>(
  path: string,
  session: Session,
  { signal, after }: FollowOptions,
  isMessage: (message: object) => message is Message,
  poll: Poll<Message>,
): AsyncGenerator<Message | Started, void, undefined> {
  let last = after ?? null;
  while (signal?.aborted !== true) {
    const reading = readOnce(path, session, last, signal);
    try {
      let read = await reading.next();
      for (; !read.done; read = await reading.next()) {
        const { type, data, id } = read.value;
        if (id !== "") last = Number(id);
        if (type === null || data === "" || last === null) continue;
        const facts: unknown = JSON.parse(data);
        const message = { ...(typeof facts === "object" && facts), type, position: last };
        // a later API may have types that this version does not know
        if (isStart(message) || isMessage(message)) yield message;
      }
      if (read.value.works) await pause(read.value.retryMs * (0.5 + Math.random() / 2), signal).catch(() => undefined);
      else
        for await (const message of poll(last, Date.now() + POLL_MS)) {
          last = message.position ?? last;
          yield message;
        }
    } finally {
      await reading.return({ works: true, retryMs: 0 });
    }
  }
}

const typeOf = (message: object): string => ("type" in message ? String(message.type) : "");
const isStart = (message: object): message is Started => typeOf(message) === "start";
const isPartnerEvent = (message: object): message is PartnerEvent => /^(order|box)\./.test(typeOf(message));
const isOrderChange = (message: object): message is OrderChange => typeOf(message).startsWith("order.");
const isAvailability = (message: object): message is Availability => typeOf(message) === "availability";

/** Polls without a log: the app reads its state again each time. */
const startAgain = ({ signal, pollSeconds = 15 }: FollowOptions): Poll<never> =>
  async function* (_after, until) {
    while (Date.now() < until && signal?.aborted !== true) {
      yield { type: "start", position: null };
      await pause(pollSeconds * 1_000, signal).catch(() => undefined);
    }
  };

/** Polls a partner's events in the log. */
const pollLog = (session: Session, { signal }: FollowOptions): Poll<PartnerEvent> =>
  async function* (from, until) {
    const how = { ...session, signal: signal ?? null };
    let after = from === null ? "end" : String(from);
    while (Date.now() < until && signal?.aborted !== true) {
      const answer = await listEvents({ after, ...(after !== "end" && { wait: 30 }) }, how).catch(() => null);
      if (answer?.status === 410) {
        after = "end";
        continue;
      }
      if (answer === null || answer.status === 429 || answer.status === 503) {
        await pause(BUSY_MS, signal).catch(() => undefined);
        continue;
      }
      const page = await done(Promise.resolve(answer));
      if (after === "end") yield { type: "start", position: page.after };
      for (const event of page.events) if (isPartnerEvent(event)) yield event;
      after = String(page.after);
    }
  };

/** Follows the orders and boxes of the session's partner, until `signal` ends it. Throws `Refused`. */
export const followPartner = (session: Session, options: FollowOptions = {}) =>
  follow("/api/v1/partners/me/stream", session, options, isPartnerEvent, pollLog(session, options));

/** Follows one order. Throws `Refused`. */
export const followOrder = ({ id }: { id: string }, session: Session, options: FollowOptions = {}) =>
  follow(`/api/v1/orders/${encodeURIComponent(id)}/stream`, session, options, isOrderChange, startAgain(options));

/** Follows the available quantities of a city's boxes. Throws `Refused`. */
export const followBoxes = ({ cityId }: { cityId: string }, session: Session, options: FollowOptions = {}) =>
  follow(
    `/api/v1/boxes/stream?cityId=${encodeURIComponent(cityId)}`,
    session,
    options,
    isAvailability,
    startAgain(options),
  );
