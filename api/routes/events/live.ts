import { eventTypes } from "../../../lib/domain/event-types.js";
import type { OrderStatus } from "../../../lib/domain/order-moves.js";
import { amongResumes, lookups, sql } from "../../../sql/db.js";
import {
  findLogEnds,
  findPartnersEventAt,
  listEventsOfPartner,
  type EventRow,
  type LogRange,
} from "../../../sql/queries/events.js";
import { followEvents, tailPosition } from "../../common/event-tail.js";
import { noteChanges } from "./availability.js";
import { idIn, message } from "./messages.js";
import { streamsOf, type Frame, type OpenStream } from "./open-streams.js";

/** A client that missed more events reads the current state instead, which is smaller. */
const MOST_MISSED = 500;
/** Events of the partner that are searched for missed ones. */
const MOST_SEARCHED = 2_000;

/** The status of an order after an event. */
const statusAfter = new Map<string, OrderStatus>([
  ["order.placed", "ACCEPTED"],
  ["order.ready", "READY"],
  ["order.completed", "COMPLETED"],
  ["order.cancelled", "CANCELLED"],
  ["order.no_show", "NO_SHOW"],
]);
const orderTypes = [...statusAfter.keys()];
/** Event types in a partner's stream. */
const partnerTypes = [...eventTypes.keys()].filter((type) => /^(order|box)\./.test(type));
const partnerTypeSet: ReadonlySet<string> = new Set(partnerTypes);

const partnerFrame = (event: EventRow): Frame => ({
  position: event.position,
  text: message(event.position, event.type, event),
});

/** A customer gets fewer fields than the partner: an event may contain the partner's commission. */
const orderFrame = ({ position, type, at, data }: EventRow): Frame => ({
  position,
  text: message(position, type, { orderId: idIn(data, "orderId"), status: statusAfter.get(type), at }),
});

/** Sends new events to their streams, with one write per stream. */
function deliver(events: readonly EventRow[]): void {
  const frames = new Map<OpenStream, Frame[]>();
  const add = (streams: ReadonlySet<OpenStream>, frameOf: (event: EventRow) => Frame, event: EventRow) => {
    if (streams.size === 0) return;
    const frame = frameOf(event);
    for (const stream of streams) {
      const own = frames.get(stream);
      if (own) own.push(frame);
      else frames.set(stream, [frame]);
    }
  };
  for (const event of events) {
    const { type, partnerId, data } = event;
    if (partnerId !== null && partnerTypeSet.has(type)) add(streamsOf("partner", partnerId), partnerFrame, event);
    const orderId = statusAfter.has(type) ? idIn(data, "orderId") : null;
    if (orderId !== null) add(streamsOf("order", orderId), orderFrame, event);
  }
  noteChanges(events);
  for (const [stream, own] of frames) stream.take(own);
}

let streams = 0;
let unfollow = (): void => undefined;

/** Delivers the log to streams until every caller has called its returned function. */
export function followLog(): () => void {
  if (streams === 0) unfollow = followEvents(deliver);
  streams += 1;
  return () => {
    streams -= 1;
    if (streams === 0) unfollow();
  };
}

/** Returns the position in a `Last-Event-ID`; null where there is none. */
export const positionIn = (sent: string | undefined): number | null =>
  sent !== undefined && /^(0|[1-9]\d{0,15})$/.test(sent) ? Number(sent) : null;

/** The message after which the client reads the current state; later events follow it. */
const start = (position: number): Frame => ({ position, text: message(position, "start", { position }) });

/** Lists missed frames up to a limit; null when there are too many events to search. */
export type Missed = (range: LogRange, limit: number) => Promise<readonly Frame[] | null>;

/**
 * Returns the first frame of a stream: the events since the client's last message, or `start` when they are unknown,
 * deleted or too many.
 */
export async function firstFrame(lastSeen: number | null, missed: Missed): Promise<Frame> {
  const here = await tailPosition();
  if (lastSeen === null) return start(here);
  if (lastSeen === here) return { position: here, text: "" };
  return amongResumes("", async () => {
    const { last, dropped } = await findLogEnds(lookups);
    if (lastSeen < dropped || lastSeen > last) return start(here);
    // the client comes from a process that has read further than this one
    if (lastSeen > here) return { position: lastSeen, text: "" };
    const frames = await missed({ after: lastSeen, until: here }, MOST_MISSED + 1);
    if (frames === null || frames.length > MOST_MISSED) return start(here);
    return { position: here, text: frames.map(({ text }) => text).join("") };
  });
}

async function listMissed(partnerId: string, range: LogRange, types: readonly string[], limit: number) {
  if (await findPartnersEventAt(sql, partnerId, range, MOST_SEARCHED)) return null;
  return listEventsOfPartner(sql, partnerId, range, types, limit);
}

/** Lists the events that a partner's stream has missed. */
export const missedByPartner =
  (partnerId: string): Missed =>
  async (range, limit) =>
    (await listMissed(partnerId, range, partnerTypes, limit))?.map(partnerFrame) ?? null;

/** Lists the events that an order's stream has missed. */
export const missedOfOrder =
  (partnerId: string, orderId: string): Missed =>
  async (range, limit) => {
    const events = await listMissed(partnerId, range, orderTypes, limit);
    if (events === null || events.length === limit) return null;
    return events.filter(({ data }) => idIn(data, "orderId") === orderId).map(orderFrame);
  };
