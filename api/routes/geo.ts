import { z } from "zod";
import { notFound } from "../../lib/errors.js";
import { lookups, sql } from "../../sql/db.js";
import { listPartnersNear, updatePartnerLocation } from "../../sql/queries/geo.js";
import { ok, section } from "../endpoint.js";
import { LocatedQuery, presentDistance } from "../geo.js";
import { pageBy, pageQuery } from "../pagination.js";
import { Id, Latitude, Longitude } from "../schemas.js";

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
    summary: "List the active partners around a place, nearest first",
    description: "Great-circle distances.",
    auth: "ANYONE",
    query: NearbyQuery,
    answers: { 200: z.object({ partners: z.array(NearbyPartner) }) },
  },
  async ({ query, address }) => {
    const circle = { latitude: query.lat, longitude: query.lng, radius: query.radius };
    const { rows, headers } = await pageBy(
      address,
      query,
      (after, limit) => listPartnersNear(lookups, circle, after && { distance: after[0], id: after[1] }, limit),
      ({ distance, partnerId }): [number, string] => [distance, partnerId],
    );
    const partners = rows.map(({ distance, ...row }) => ({ ...row, distanceMeters: presentDistance(distance) }));
    return ok({ partners }, headers);
  },
);

geo.post(
  "/internal/locations",
  {
    summary: "Set where a partner is",
    auth: "LOCATION_WRITER",
    body: z.object({ partnerId: Id, latitude: Latitude, longitude: Longitude }),
    answers: { 200: z.object({}) },
    errors: ["404 NOT_FOUND"],
  },
  async ({ user, body: { partnerId, latitude, longitude } }) => {
    if (!(await updatePartnerLocation(sql, partnerId, latitude, longitude, user?.id ?? null)))
      throw notFound("This partner");
    return ok({});
  },
);
