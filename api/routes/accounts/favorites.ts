import { z } from "zod";
import { sql } from "../../../sql/db.js";
import { deleteFavorite, insertFavorite, listFavorites } from "../../../sql/queries/favorites.js";
import { created, found, noContent, ok, section } from "../../http/endpoint.js";
import { notFound } from "../../http/refusals.js";
import { page, PageQuery } from "../../http/pagination.js";
import { Id, shownAs } from "../../http/schemas.js";

const TargetType = z.enum(["BOX", "PARTNER"]);

const Favorite = z.object({ id: Id, targetType: TargetType, targetId: Id }).meta({ id: "Favorite" });

export const favorites = section({ prefix: "/users/me/favorites", tag: "Users" });

favorites.get(
  "/",
  {
    name: "listFavourites",
    summary: "List your favourites, newest first",
    auth: "USER",
    query: PageQuery,
    answers: { 200: z.array(Favorite) },
  },
  ({ user, query, address }) => page(address, query, (after, limit) => listFavorites(sql, user.id, after, limit)),
);

favorites.post(
  "/",
  {
    name: "addFavourite",
    summary: "Add a box or a partner to your favourites",
    description: "An existing favourite is returned with 200.",
    auth: "USER",
    body: z.object({
      targetType: z
        .string()
        .regex(/^(box|partner)$/i, "must be BOX or PARTNER")
        .transform((type) => TargetType.parse(type.toUpperCase()))
        .meta({
          override: shownAs({ type: "string", enum: TargetType.options, description: "in any case" }),
          example: "PARTNER",
        }),
      targetId: Id,
    }),
    answers: { 200: Favorite, 201: Favorite },
    errors: [notFound],
  },
  async ({ user, body: { targetType, targetId } }) => {
    const inserted = await insertFavorite(sql, user.id, targetType, targetId);
    const { id, added } = found(inserted, `This ${targetType.toLowerCase()}`);
    const favorite = { id, targetType, targetId };
    return added ? created(favorite) : ok(favorite);
  },
);

favorites.delete(
  "/:id",
  { name: "removeFavourite", summary: "Remove one of your favourites", auth: "USER", answers: { 204: null } },
  async ({ user, params }) => {
    if (!(await deleteFavorite(sql, user.id, params.id))) throw notFound("This favourite");
    return noContent();
  },
);
