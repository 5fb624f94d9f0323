import { z } from "zod";
import { sql } from "../../../sql/db.js";
import { listCities, upsertCity } from "../../../sql/queries/cities.js";
import { ok, section } from "../../http/endpoint.js";
import { page, pageQuery } from "../../http/pagination.js";
import { CityId, text, Zone } from "../../http/schemas.js";

const City = z.object({ id: CityId, name: z.string(), timezone: Zone }).meta({ id: "City" });

export const cities = section({ prefix: "/cities", tag: "Partners" });

cities.get(
  "/",
  {
    name: "listCities",
    summary: "List the platform's cities, by key",
    description: "Cities that an admin has named or that have an active partner.",
    auth: "ANYONE",
    shared: "setting",
    query: pageQuery(CityId),
    answers: { 200: z.array(City) },
  },
  ({ query, address, searches }) => page(address, query, (after, limit) => listCities(searches(limit), after, limit)),
);

export const adminCities = section({ prefix: "/admin/cities", tag: "Partners" });

adminCities.put(
  "/:id",
  {
    name: "nameCity",
    summary: "Name a city",
    description: "A city in which partners have registered, or a new one.",
    auth: "ADMIN",
    params: z.object({ id: CityId }),
    body: z.object({ name: text(200), timezone: Zone }),
    answers: { 200: City },
  },
  async ({ user, params: { id }, body }) => {
    const city = { id, ...body };
    await upsertCity(sql, city, user.id);
    return ok(city);
  },
);
