import { setTimeout as delay } from "node:timers/promises";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { Snooze } from "../lib/process/errors.js";
import type { Logger } from "../lib/process/log.js";
import { findPlace, gaveNoResponse, hasGeocoder, type Place } from "../lib/geocoding/geocoder.js";
import { Bulkhead, Busy, takePlace } from "../lib/outbound/bulkhead.js";
import { recordCall } from "../lib/outbound/vendor-calls.js";
import { geocode } from "../queues/index.js";
import { sql } from "../sql/db.js";
import {
  claimGeocode,
  claimGeocoderSlot,
  findGeocodeById,
  updateGeocodeAnswered,
  updateGeocodeFailed,
  type Geocode,
} from "../sql/queries/geocodes.js";
import { signal } from "../sql/signals.js";
import type { Handler } from "./consume.js";
import { watchPauses } from "./slots.js";

const FOUND_DAYS = 90;
const NOT_FOUND_DAYS = 1;
/** Longer than a call and the wait for its slot take. */
const CLAIM_SECONDS = 60;

/** The queue has one provider, which may take every slot; it is only paused while it does not answer. */
const providers = watchPauses(geocode.queue, new Bulkhead(Infinity, () => true));

/** Calls the provider, and counts the call for operators. */
async function callCounted(address: string): Promise<Place | null> {
  try {
    const found = await findPlace(address);
    recordCall("geocoder", false);
    return found;
  } catch (error) {
    recordCall("geocoder", true);
    throw error;
  }
}

/** Calls the provider at the permitted rate; throws Snooze while it is paused. */
async function callProvider(address: string): Promise<Place | null> {
  const place = await takePlace(providers, { origin: config.GEOCODER, owner: "" });
  if (place instanceof Busy) throw new Snooze(place.until);
  let answered = true;
  try {
    await delay(await claimGeocoderSlot(sql, config.GEOCODER_PER_SECOND));
    return await callCounted(address);
  } catch (error) {
    answered = !gaveNoResponse(error);
    throw error;
  } finally {
    place.leave(answered);
  }
}

/** Asks the provider, unless another job is doing so, and returns the current row. Throws when the provider does not answer. */
export async function askGeocoder({ id, address }: Geocode, log: Logger): Promise<Geocode | undefined> {
  if (await claimGeocode(sql, id, CLAIM_SECONDS)) {
    try {
      const place = await callProvider(address);
      await updateGeocodeAnswered(sql, id, place, place ? FOUND_DAYS : NOT_FOUND_DAYS);
    } catch (error) {
      log.warn({ error: describeError(error) }, "the geocoder gave no answer");
      await updateGeocodeFailed(sql, id);
      throw error;
    } finally {
      await signal(sql, "geocode", id);
    }
  }
  return findGeocodeById(sql, id);
}

/** Answers the requests that wait. A failure is an answer too: clients get it at once and may ask again. */
export const findAddress: Handler<{ geocodeId: string }> = async ({ payload: { geocodeId }, log }) => {
  if (!hasGeocoder) return;
  const asked = await findGeocodeById(sql, geocodeId);
  if (asked && !asked.fresh) await askGeocoder(asked, log).catch(() => undefined);
};
