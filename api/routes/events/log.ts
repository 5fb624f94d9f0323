import { z } from "zod";
import { eventTypes, schemaNameOf, type EventType } from "../../../lib/domain/event-types.js";
import { Flag } from "../../../lib/process/flag.js";
import { lookups, sql } from "../../../sql/db.js";
import {
  EVENT_DAYS,
  findEventAt,
  findLogEnds,
  findPartnersEventAt,
  listEvents,
  listEventsOfPartner,
  type EventRow,
} from "../../../sql/queries/events.js";
import { watchEvents } from "../../common/event-tail.js";
import { clientNetwork } from "../../http/client-network.js";
import { ok, section } from "../../http/endpoint.js";
import { Limit } from "../../http/pagination.js";
import { refusal, refusalWith } from "../../http/refusal.js";
import { overloaded, retryFacts } from "../../http/refusals.js";
import { Id, shownAs, Timestamp } from "../../http/schemas.js";

/** Events that are searched for the types of a page. Without a match the page is empty, and its `after` leads on. */
const LOOKED_THROUGH = 2_000;
/** Waiting requests per caller. More are of no use, because all of them would get the same events. */
const WAITS_OF_CALLER = 4;
/** Waiting requests of all callers; each holds a connection and some kilobytes. */
const WAITS = 1_000;
const MOST_WAIT_SECONDS = 30;

const eventsGone = refusal(
  410,
  "NOT_FOUND",
  "EVENTS_GONE",
  `Events after this position are gone: they are kept for ${EVENT_DAYS} days.`,
  "Read the present state of what you follow from its own endpoints, then go on here with `after=end`.",
);
const tooManyWaits = refusalWith(429, "RATE_LIMIT", "TOO_MANY_WAITS", {
  detail: `At most ${WAITS_OF_CALLER} requests of a caller may wait for events at once.`,
  remedy: "Let one request wait, and share what it gets.",
  facts: retryFacts,
  example: { retryAfterSeconds: 1 },
});

/** The schema of an event of one type. */
const viewOf = ([name, { summary, version, data, ofPartner }]: [string, EventType]) =>
  z
    .object({
      position: z.int().meta({
        description: "its place in the log; later events have higher ones",
        example: 2_078_200_000_000_042,
      }),
      id: Id.meta({ description: "the same however often the event is read or sent" }),
      type: z.literal(name),
      version: z.literal(version),
      partnerId: ofPartner ? Id : z.null(),
      at: Timestamp,
      data,
    })
    .meta({ id: `${schemaNameOf(name)}Event`, description: summary });

const [firstView, ...otherViews] = [...eventTypes].map(viewOf);
if (!firstView) throw new Error("there are no types of events");

/** Typed as any event, because the log may contain types of a later version. */
const EventView: z.ZodType<EventRow> = z.discriminatedUnion("type", [firstView, ...otherViews]);

const After = z
  .string()
  .regex(/^(end|0|[1-9]\d{0,15})$/, "must be a position, or `end`")
  .transform((sent) => (sent === "end" ? null : Number(sent)))
  .default(0)
  .meta({
    description:
      "the `after` of the previous page; `0` is the oldest event that is kept, `end` the present end of the log",
    override: shownAs({ type: "string", default: "0" }),
    example: "2078200000000042",
  });

const Types = z
  .string()
  .max(1_000)
  .transform((list) => list.split(","))
  .refine((names) => names.every((name) => eventTypes.has(name)), "must be types of events, with commas between them")
  .optional()
  .meta({
    description: "only events of these types, with commas between them; all by default",
    override: shownAs({ type: "string" }),
    example: "order.placed,order.cancelled",
  });

const Wait = z
  .string()
  .regex(/^\d{1,2}$/, "must be a number of seconds")
  .transform((seconds) => Math.min(Number(seconds), MOST_WAIT_SECONDS))
  .default(0)
  .meta({
    description: `seconds to wait for an event when there is none; at most ${MOST_WAIT_SECONDS}`,
    override: shownAs({ type: "integer", minimum: 0, maximum: MOST_WAIT_SECONDS, default: 0 }),
    example: 30,
  });

const EventPage = z
  .object({
    events: z.array(EventView),
    after: z.int().meta({ description: "the `after` of the next request", example: 2_078_200_000_000_042 }),
    more: z.boolean().meta({ description: "whether there may be more already: then ask again at once" }),
  })
  .meta({ id: "EventPage" });

type EventPage = z.output<typeof EventPage>;

interface Reader {
  partnerId: string | null;
  types: readonly string[] | null;
  limit: number;
}

/** Reads the page after a position; null stands for the end of the log. */
async function readPage({ partnerId, types, limit }: Reader, from: number | null): Promise<EventPage> {
  // all events up to `last` are visible to every later statement
  const { last, dropped } = await findLogEnds(lookups);
  const after = from ?? last;
  if (after !== 0 && after < dropped) throw eventsGone();
  if (after >= last) return { events: [], after, more: false };
  const whole = { after, until: last };
  const far =
    types &&
    (partnerId === null
      ? await findEventAt(sql, whole, LOOKED_THROUGH)
      : await findPartnersEventAt(sql, partnerId, whole, LOOKED_THROUGH));
  const range = { after, until: far?.position ?? last };
  const events = await (partnerId === null
    ? listEvents(sql, range, types, limit)
    : listEventsOfPartner(sql, partnerId, range, types, limit));
  const reached = (events.length === limit ? events.at(-1)?.position : undefined) ?? range.until;
  return { events: [...events], after: reached, more: reached < last };
}

/** The number of waiting requests of each caller; `waits` counts all. */
const waiting = new Map<string, number>();
let waits = 0;

/** Reserves a slot for a waiting request; returns the function that releases it. */
function takePlace(caller: string): () => void {
  const own = waiting.get(caller) ?? 0;
  if (own >= WAITS_OF_CALLER) throw tooManyWaits({ retryAfterSeconds: 1 });
  if (waits >= WAITS) throw overloaded();
  waiting.set(caller, own + 1);
  waits += 1;
  return () => {
    waits -= 1;
    const left = (waiting.get(caller) ?? 1) - 1;
    if (left > 0) waiting.set(caller, left);
    else waiting.delete(caller);
  };
}

const waiters = new Set<Flag>();
let isStopping = false;

/** Ends every wait when the process stops: each request is answered with its current page. */
export function endEventWaits(): void {
  isStopping = true;
  for (const { set } of waiters) set();
}

/** Reads the next page with events, or returns an empty page after `seconds`. */
async function awaitPage(reader: Reader, from: number | null, seconds: number, caller: string, gone: AbortSignal) {
  const leave = takePlace(caller);
  const changed = new Flag();
  waiters.add(changed);
  const deadline = performance.now() + seconds * 1_000;
  // before the first read, or an event between the read and the wait would be missed
  const unwatch = watchEvents({ partnerId: reader.partnerId, types: reader.types, wake: changed.set });
  gone.addEventListener("abort", changed.set);
  try {
    let page = await readPage(reader, from);
    for (;;) {
      const left = deadline - performance.now();
      if (page.events.length > 0 || page.more || left <= 0 || isStopping) return page;
      await changed.wait(left);
      gone.throwIfAborted();
      page = await readPage(reader, page.after);
    }
  } finally {
    waiters.delete(changed);
    unwatch();
    leave();
  }
}

export const events = section({ prefix: "/events", tag: "Events" });

events.get(
  "/",
  {
    name: "listEvents",
    summary: "Follow the log of events",
    description:
      "Partners read their own events, admins and service keys all. Begin with `after=end`, or with `after=0` for the events " +
      `of the last ${EVENT_DAYS} days, and send the \`after\` of each page with the next request: then no event is missed, ` +
      "and none comes twice. With `wait` the response comes as soon as there is an event. Events of types that you do not " +
      "know may come: pass them over. 410: the position is older than the oldest event.",
    auth: "EVENT_READER",
    query: z.object({ after: After, types: Types, wait: Wait, limit: Limit(50, 200) }),
    answers: { 200: EventPage },
    errors: [eventsGone, tooManyWaits, overloaded],
    waits: true,
  },
  async ({ user, partner, query: { after, types = null, wait, limit }, ip, gone }) => {
    const reader = { partnerId: partner?.id ?? null, types, limit };
    if (wait === 0) return ok(await readPage(reader, after));
    const caller = user ? `user ${user.id}` : `address ${clientNetwork(ip)}`;
    return ok(await awaitPage(reader, after, wait, caller, gone));
  },
);
