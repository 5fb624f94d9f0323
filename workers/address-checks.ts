import { addressKey, canonicalAddress } from "../lib/geocoding/address-key.js";
import { hasGeocoder } from "../lib/geocoding/geocoder.js";
import { Snooze } from "../lib/process/errors.js";
import type { Logger } from "../lib/process/log.js";
import { sql, transaction } from "../sql/db.js";
import {
  countWaitingGeocodes,
  findGeocode,
  findPartnerAddress,
  requestGeocode,
  updateAddressDistance,
  type Geocode,
} from "../sql/queries/geocodes.js";
import type { Handler } from "./consume.js";
import { askGeocoder } from "./geocode.js";

/** The wait while requests wait for the geocoder: they come first. */
const YIELD_MS = 30_000;
/** The wait for another job that is asking the provider. */
const LOOK_AGAIN_MS = 1_000;

const snooze = (ms: number) => new Snooze(new Date(Date.now() + ms));

/** Returns the geocoded address; snoozes while requests wait for the geocoder, and while there is no answer. */
async function geocodeOf(address: string, log: Logger): Promise<Geocode> {
  const canonical = canonicalAddress(address);
  const key = addressKey(canonical);
  const known = await findGeocode(sql, key);
  if (known?.fresh) return known;
  if ((await countWaitingGeocodes(sql, 1)) > 0) throw snooze(YIELD_MS);
  await requestGeocode(sql, key, canonical);
  const requested = await findGeocode(sql, key);
  const answer = requested && (await askGeocoder(requested, log));
  if (!answer?.fresh) throw snooze(LOOK_AGAIN_MS);
  return answer;
}

/** Compares a partner's coordinates with its address, and once more when the address has changed meanwhile. */
export const checkAddress: Handler<{ partnerId: string }> = async ({ payload: { partnerId }, log, done }) => {
  if (!hasGeocoder) return;
  const address = await findPartnerAddress(sql, partnerId);
  // the registration was purged
  if (address === undefined) return;
  const place = await geocodeOf(address, log);
  await transaction(async (tx) => {
    if (!(await updateAddressDistance(tx, partnerId, address, place))) throw snooze(0);
    await done(tx);
  });
};
