import { z } from "zod";
import { addressKey, canonicalAddress } from "../../../lib/geocoding/address-key.js";
import { config } from "../../../lib/process/config.js";
import { formatWait } from "../../../lib/outbound/retry-after.js";
import { geocode } from "../../../queues/index.js";
import { inTurn, lookups, sql, transaction, type Db } from "../../../sql/db.js";
import { listPartnersNear, updatePartnerLocation } from "../../../sql/queries/geo.js";
import {
  requestGeocode,
  countGeocodesOf,
  countGeocodesAhead,
  FAILURE_SECONDS,
  findGeocode,
  findGeocodeById,
  geocodesOf,
  lockWaitingGeocodes,
  updateGeocodeJob,
  type Geocode,
} from "../../../sql/queries/geocodes.js";
import { stageJob } from "../../../sql/outbox.js";
import { awaitResult } from "../../../sql/signals.js";
import { accepted, ok, section } from "../../http/endpoint.js";
import { LocatedQuery, presentDistance } from "../../common/coordinates.js";
import { limitActions } from "../../http/limits.js";
import { pageBy, pageQuery } from "../../http/pagination.js";
import { notFound, passing } from "../../http/refusals.js";
import { Id, Latitude, Longitude, text } from "../../http/schemas.js";

const NearbyQuery = pageQuery(z.tuple([z.number(), Id])).extend({
  lat: LocatedQuery.lat.unwrap(),
  lng: LocatedQuery.lng.unwrap(),
  radius: LocatedQuery.radius,
});

const NearbyPartner = z
  .object({ partnerId: Id, latitude: z.number(), longitude: z.number(), distanceMeters: z.number() })
  .meta({ id: "NearbyPartner" });

export const geo = section({ prefix: "/geo", tag: "Geo" });

geo.get(
  "/partners/nearby",
  {
    name: "listPartnersNearby",
    summary: "List the active partners around a place, nearest first",
    description: "Great-circle distances.",
    auth: "ANYONE",
    shared: "profile",
    query: NearbyQuery,
    answers: { 200: z.object({ partners: z.array(NearbyPartner) }) },
  },
  async ({ query, address, searches }) => {
    const circle = { latitude: query.lat, longitude: query.lng, radius: query.radius };
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listPartnersNear(searches(limit), circle, after && { distance: after[0], id: after[1] }, limit),
      ({ distance, partnerId }): [number, string] => [distance, partnerId],
    );
    const partners = rows.map(({ partnerId, latitude, longitude, distance }) => ({
      partnerId,
      latitude,
      longitude,
      distanceMeters: presentDistance(distance),
    }));
    return ok({ partners }, headers);
  },
);

const GeocodeAnswer = z.object({
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
  found: z.boolean(),
});

/** More from one user would keep others waiting. */
const NEW_ADDRESSES_PER_MINUTE = 30;
/**
 * A minute of the provider's rate, so that no request waits much longer. Only the lookups that come before a new one count: a
 * few users with many addresses do not keep out others.
 */
const MAX_AHEAD = 60 * config.GEOCODER_PER_SECOND;

const geocoderSilent = passing("GEOCODER_SILENT", "The geocoder does not answer.", FAILURE_SECONDS);
const geocoderBusy = passing("GEOCODER_BUSY", "Too many addresses are waiting for the geocoder.", 60);

const nowhere = { latitude: null, longitude: null, found: false };

geo.get(
  "/geocode",
  {
    name: "geocodeAddress",
    summary: "Geocode an address",
    description:
      "Results are kept for 90 days, misses for one. 202: the provider takes longer; repeat the " +
      `request for the result. 503: the provider does not answer; it is asked again after ${formatWait(FAILURE_SECONDS)}. ` +
      `A user may look up ${NEW_ADDRESSES_PER_MINUTE} unknown addresses a minute.`,
    auth: "USER",
    query: z
      .object({
        address: text(300, 3),
        q: text(300, 3).meta({ description: "synonym of `address`" }),
      })
      .partial()
      .refine(({ address, q }) => address !== undefined || q !== undefined, {
        path: ["address"],
        message: "is missing",
      }),
    answers: { 200: GeocodeAnswer, 202: z.object({}) },
    waits: true,
    errors: [geocoderSilent, geocoderBusy],
  },
  async ({ user, query: { q = "", address: asked = q }, address, gone, requestId, log }) => {
    if (config.GEOCODER === "none") {
      log.warn("addresses cannot be geocoded: GEOCODER is not set");
      return ok(nowhere);
    }
    const canonical = canonicalAddress(asked);
    const key = addressKey(canonical);
    const known = await findGeocode(lookups, key);
    const answer =
      known?.fresh || known?.failed ? known : await lookUp(key, canonical, { userId: user.id, gone, requestId });
    if (answer === null) return accepted({}, address);
    if (answer.status === "FAILED") throw geocoderSilent();
    const { latitude, longitude } = answer;
    return ok(latitude === null ? nowhere : { latitude, longitude, found: true });
  },
);

/** Stages a lookup, unless one is open, and waits for its result; null when that takes too long. */
async function lookUp(
  key: string,
  canonical: string,
  { userId, gone, requestId }: { userId: string; gone: AbortSignal; requestId: string },
): Promise<Geocode | null> {
  const request = async (tx: Db): Promise<string | undefined> => {
    const fresh = await requestGeocode(tx, key, canonical);
    if (fresh === undefined) return (await findGeocode(tx, key))?.id;
    limitActions("new addresses", userId, NEW_ADDRESSES_PER_MINUTE);
    await lockWaitingGeocodes(tx);
    // the users take turns: a user's first address comes before another's second
    const priority = await countGeocodesOf(tx, userId);
    if ((await countGeocodesAhead(tx, priority, MAX_AHEAD)) === MAX_AHEAD) throw geocoderBusy();
    const turn = { key: geocodesOf(userId), priority };
    await updateGeocodeJob(tx, fresh, await stageJob(tx, geocode, { geocodeId: fresh }, { requestId, ...turn }));
    return fresh;
  };
  const id = await inTurn(`geocodes ${userId}`, () => transaction(request));
  if (id === undefined) return null;
  return awaitResult({ name: "geocode", id, deadlineMs: config.SYNC_WAIT_MS, abort: gone }, async () => {
    const found = await findGeocodeById(lookups, id);
    return found?.fresh || found?.failed ? found : null;
  });
}

geo.post(
  "/internal/locations",
  {
    name: "setPartnerLocation",
    summary: "Set a partner's location",
    auth: "LOCATION_WRITER",
    body: z.object({ partnerId: Id, latitude: Latitude, longitude: Longitude }),
    answers: { 200: z.object({}) },
    errors: [notFound],
  },
  async ({ user, body: { partnerId, latitude, longitude } }) => {
    if (!(await updatePartnerLocation(sql, partnerId, latitude, longitude, user?.id ?? null)))
      throw notFound("This partner");
    return ok({});
  },
);
