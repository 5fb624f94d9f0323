import { z } from "zod";
import { listOffersNear, listOffersSoon, type NearOfferRow, type OfferRow } from "../../../sql/queries/offers.js";
import { ListedBox, presentBox } from "./presentation.js";
import { ok, section } from "../../http/endpoint.js";
import { LocatedQuery, presentDistance, requireBoth } from "../../common/coordinates.js";
import { pageBy, pageQuery } from "../../http/pagination.js";
import { CityId, Id, Instant, orNull, QueryAmount } from "../../http/schemas.js";

/** The start of a pickup window as PostgreSQL writes it, such as `2026-06-01 15:00:00.123456+00`. */
const StartKey = z
  .string()
  .regex(/^.{10} .{8}(\.\d{1,6})?\+00$/)
  .refine((key) => Instant.safeParse(key.replace(" ", "T").replace("+00", "Z")).success);

/** The sort key of a box: its distance or the start of its pickup window, and its id. */
const Place = z.tuple([z.union([z.number(), StartKey]), Id]);

const OfferQuery = pageQuery(Place)
  .extend({
    ...LocatedQuery,
    cityId: orNull(CityId),
    maxPrice: orNull(QueryAmount),
    availableFrom: orNull(Instant).meta({ description: "only boxes whose pickup window ends after this" }),
    availableTo: orNull(Instant).meta({ description: "only boxes whose pickup window starts before this" }),
  })
  .superRefine(requireBoth);

const Offer = z
  .object({
    ...ListedBox.shape,
    partnerName: z.string(),
    latitude: z.number(),
    longitude: z.number(),
    distanceMeters: z.number().nullable().meta({ description: "null without `lat` and `lng`" }),
  })
  .meta({ id: "Offer" });

/** Has no spread: V8 adds each property after one so slowly that a page would take twice as long. */
const present = (row: OfferRow | NearOfferRow): z.output<typeof Offer> =>
  Object.assign(presentBox(row), {
    partnerName: row.partnerName,
    latitude: row.latitude,
    longitude: row.longitude,
    distanceMeters: "distance" in row ? presentDistance(row.distance) : null,
  });

export const offers = section({ prefix: "/boxes", tag: "Boxes" });

offers.get(
  "/",
  {
    name: "listOffers",
    summary: "List the boxes on offer",
    description: "Around `lat` and `lng` the nearest first, otherwise by the start of the pickup window.",
    auth: "ANYONE",
    shared: "stock",
    query: OfferQuery,
    answers: { 200: z.array(Offer) },
  },
  async ({ query, address, searches }) => {
    const { lat, lng, radius, cityId, maxPrice, availableFrom, availableTo } = query;
    const filter = { cityId, maxPriceMinor: maxPrice, availableFrom, availableTo };
    const list = (after: z.output<typeof Place> | null, limit: number): Promise<(OfferRow | NearOfferRow)[]> => {
      if (lat === undefined || lng === undefined) {
        const place = after && { startKey: String(after[0]), id: after[1] };
        return listOffersSoon(searches(limit), filter, place, limit);
      }
      const place = after && { distance: Number(after[0]), id: after[1] };
      return listOffersNear(searches(limit), { latitude: lat, longitude: lng, radius }, filter, place, limit);
    };
    const placeOf = (row: OfferRow | NearOfferRow): z.output<typeof Place> => [
      "distance" in row ? row.distance : row.startKey,
      row.id,
    ];
    const { rows, headers } = await pageBy(address, query, list, placeOf);
    return ok(rows.map(present), headers);
  },
);
