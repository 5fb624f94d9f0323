import { setTimeout as delay } from "node:timers/promises";
import { addressKey, canonicalAddress } from "../lib/geocoding/address-key.js";
import { config } from "../lib/process/config.js";
import { describeError } from "../lib/process/describe-error.js";
import { PermanentError, Snooze } from "../lib/process/errors.js";
import { findPlace, hasGeocoder } from "../lib/geocoding/geocoder.js";
import { sql } from "../sql/db.js";
import {
  requestGeocode,
  claimGeocode,
  findGeocode,
  findGeocodeById,
  findPartnerAddress,
  claimGeocoderSlot,
  updateAddressDistance,
  updateGeocodeAnswered,
  updateGeocodeFailed,
  type Geocode,
} from "../sql/queries/geocodes.js";
import { signal } from "../sql/signals.js";
import type { Handler, Task } from "./consume.js";

const FOUND_DAYS = 90;
const NOT_FOUND_DAYS = 1;
/** Longer than a call and the wait for its slot take. */
const CLAIM_SECONDS = 60;
/** The wait for another job that is asking the provider. */
const LOOK_AGAIN_MS = 1_000;

type GeocodeTask = Task<{ geocodeId: string | null; partnerId: string | null }>;

/** Asks the provider, unless another job is doing so, and returns the current row. Throws when the provider does not answer. */
async function resolve({ id, address }: Geocode, { log }: GeocodeTask): Promise<Geocode | undefined> {
  if (await claimGeocode(sql, id, CLAIM_SECONDS)) {
    try {
      await delay(await claimGeocoderSlot(sql, config.GEOCODER_PER_SECOND));
      const place = await findPlace(address);
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

/** Compares a partner's coordinates with its address; snoozes while there is no answer. */
async function checkPartner(partnerId: string, task: GeocodeTask): Promise<void> {
  const address = await findPartnerAddress(sql, partnerId);
  if (address === undefined) throw new PermanentError("there is no such partner");
  const canonical = canonicalAddress(address);
  const key = addressKey(canonical);
  await requestGeocode(sql, key, canonical);
  const known = await findGeocode(sql, key);
  const answer = known?.fresh ? known : known && (await resolve(known, task));
  if (!answer?.fresh) throw new Snooze(new Date(Date.now() + LOOK_AGAIN_MS));
  const { latitude, longitude } = answer;
  await updateAddressDistance(
    sql,
    partnerId,
    address,
    latitude === null || longitude === null ? null : { latitude, longitude },
  );
}

/** Answers the requests that wait. A failure is an answer too: clients get it at once and may ask again. */
async function answerRequests(geocodeId: string, task: GeocodeTask): Promise<void> {
  const asked = await findGeocodeById(sql, geocodeId);
  if (asked && !asked.fresh) await resolve(asked, task).catch(() => undefined);
}

export const findAddress: Handler<{ geocodeId: string | null; partnerId: string | null }> = async (task) => {
  if (!hasGeocoder) return;
  const { geocodeId, partnerId } = task.payload;
  if (geocodeId !== null) await answerRequests(geocodeId, task);
  if (partnerId !== null) await checkPartner(partnerId, task);
};
