import { describeError } from "../../../lib/process/describe-error.js";
import { log } from "../../../lib/process/log.js";
import { sql } from "../../../sql/db.js";
import { listEvents, type EventRow, type LogRange } from "../../../sql/queries/events.js";
import { listAvailability, listAvailabilityOfPartners, type AvailabilityRow } from "../../../sql/queries/streams.js";
import { seenPosition } from "../../common/event-tail.js";
import { idIn, message } from "./messages.js";
import { followedIds, streamsOf, type Frame } from "./open-streams.js";

/** Interval of updates: changes are collected, because a popular box changes many times a second. */
const EVERY_MS = 1_000;
/** Partners and boxes per read; the others are read after the next interval. */
const READ_AT_ONCE = 200;

/** A box, or all boxes of a partner, whose availability has changed. */
interface Change {
  /** The position of the first event that is not yet sent. */
  since: number;
  of: "partner" | "box";
}

/** Changes by id, ordered by position. */
let changes = new Map<string, Change>();
let timer: NodeJS.Timeout | undefined;

/** Returns the subject of an event: a box, or for an order or a partner's status all boxes of the partner. */
function subjectOf({ type, partnerId, data }: EventRow): { id: string; of: Change["of"] } | null {
  const boxId = type.startsWith("box.") ? idIn(data, "boxId") : null;
  if (boxId !== null) return { id: boxId, of: "box" };
  return partnerId !== null && /^(order|partner)\./.test(type) ? { id: partnerId, of: "partner" } : null;
}

function addChanges(to: Map<string, Change>, events: readonly EventRow[]): void {
  for (const event of events) {
    const subject = subjectOf(event);
    if (subject && !to.has(subject.id)) to.set(subject.id, { since: event.position, of: subject.of });
  }
}

/** Reads the current availability of changed boxes in these cities. */
async function readChanges(changed: readonly (readonly [string, Change])[], cityIds: readonly string[]) {
  const idsOf = (kind: Change["of"]) => changed.flatMap(([id, { of }]) => (of === kind ? [id] : []));
  const [partnerIds, boxIds] = [idsOf("partner"), idsOf("box")];
  const lists = await Promise.all([
    partnerIds.length > 0 ? listAvailabilityOfPartners(sql, partnerIds, cityIds) : [],
    boxIds.length > 0 ? listAvailability(sql, boxIds, cityIds) : [],
  ]);
  return [...new Map(lists.flat().map((row) => [row.boxId, row])).values()];
}

const availability = (position: number, rows: readonly AvailabilityRow[]): string =>
  message(position, "availability", {
    boxes: rows.map(({ boxId, partnerId, quantityAvailable }) => ({ boxId, partnerId, quantityAvailable })),
  });

/** The earliest change that is being read. */
let reading: Change | undefined;

/** Returns the position of the log up to which city streams are complete. */
export function sentPosition(): number | null {
  const [first] = changes.values();
  const unsent = reading ?? first;
  return unsent === undefined ? seenPosition() : unsent.since - 1;
}

/** Takes the oldest changes out and reads them; puts them back on failure. Later changes of the same boxes are read again. */
async function takeChanges(cityIds: readonly string[]): Promise<AvailabilityRow[]> {
  const taken = [...changes].slice(0, READ_AT_ONCE);
  for (const [id] of taken) changes.delete(id);
  reading = taken[0]?.[1];
  try {
    return await readChanges(taken, cityIds);
  } catch (error) {
    // at the front again, with their original positions
    changes = new Map([...taken, ...changes, ...taken]);
    throw error;
  } finally {
    reading = undefined;
  }
}

/** Sends each city's changes to all of its streams, with one read for all cities. */
async function sendChanges(): Promise<void> {
  const cityIds = followedIds("city");
  if (cityIds.length === 0) {
    changes.clear();
    return;
  }
  const rows = await takeChanges(cityIds);
  const position = sentPosition() ?? 0;
  for (const cityId of cityIds) {
    const own = rows.filter((row) => row.cityId === cityId);
    if (own.length === 0) continue;
    const frame: Frame = { position: Number.POSITIVE_INFINITY, text: availability(position, own) };
    for (const stream of streamsOf("city", cityId)) stream.take([frame]);
  }
}

function sendSoon(): void {
  timer ??= setTimeout(() => {
    sendChanges()
      .catch((error: unknown) => log.debug({ error: describeError(error) }, "availability could not be read"))
      .finally(() => {
        timer = undefined;
        if (changes.size > 0) sendSoon();
      });
  }, EVERY_MS).unref();
}

/** Records the availability changes of these events for the city streams. */
export function noteChanges(events: readonly EventRow[]): void {
  if (followedIds("city").length === 0) return;
  addChanges(changes, events);
  if (changes.size > 0) sendSoon();
}

/** Lists the changes that a stream of a city has missed. */
export const missedInCity =
  (cityId: string) =>
  async (range: LogRange, limit: number): Promise<readonly Frame[] | null> => {
    const events = await listEvents(sql, range, null, limit);
    if (events.length === limit) return null;
    const missed = new Map<string, Change>();
    addChanges(missed, events);
    const rows = missed.size > 0 ? await readChanges([...missed], [cityId]) : [];
    return rows.length > 0 ? [{ position: range.until, text: availability(range.until, rows) }] : [];
  };
