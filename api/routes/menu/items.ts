import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { notFound } from "../../../lib/process/errors.js";
import { limits } from "../../../lib/domain/limits.js";
import { toMajor } from "../../../lib/domain/money.js";
import { sql } from "../../../sql/db.js";
import {
  archiveMenuItem,
  insertMenuItem,
  listMenuCategories,
  listMenuItems,
  updateMenuItem,
  type MenuItemRow,
} from "../../../sql/queries/menu.js";
import { created, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { Amount, changesOf, Id, IdParams, Money, QueryFlag, text } from "../../http/schemas.js";

const item = {
  name: text(limits.text.name),
  category: text(limits.text.category).meta({
    description: "a name; a category is created when it is first used",
    example: "Bread",
  }),
  price: Amount,
  description: text(limits.text.description).optional(),
  weightGrams: z.int().min(1).max(limits.weightGrams).optional(),
  available: z.boolean().optional(),
};

const NewMenuItem = z.object({
  ...item,
  externalId: text(limits.text.externalId)
    .optional()
    .meta({ description: "the partner's own key; an existing item with it is updated and restored" }),
});

const MenuItemChanges = changesOf(item);

const MenuItem = z
  .object({
    id: Id,
    name: z.string(),
    category: z.string(),
    price: Money,
    archived: z.boolean(),
    available: z.boolean(),
    description: z.string().nullable(),
    weightGrams: z.int().nullable(),
    externalId: z.string().nullable(),
    source: z.enum(enums.itemSource),
  })
  .meta({ id: "MenuItem" });

const present = ({ priceMinor, ...row }: MenuItemRow): z.output<typeof MenuItem> => ({
  ...row,
  price: toMajor(priceMinor),
});

export const menu = section({ prefix: "/menu", tag: "Menu" });

menu.get(
  "/items",
  {
    summary: "List your menu",
    auth: "PARTNER",
    query: PageQuery.extend({
      archived: QueryFlag.default(false).meta({ description: "`true` includes archived items" }),
    }),
    answers: { 200: z.array(MenuItem) },
  },
  async ({ partner, query, address }) => {
    const { rows, headers } = await page(address, query, (after, limit) =>
      listMenuItems(sql, partner.id, query.archived, after, limit),
    );
    return ok(rows.map(present), headers);
  },
);

menu.get(
  "/categories",
  {
    summary: "List your menu's categories",
    auth: "PARTNER",
    query: PageQuery,
    answers: { 200: z.array(z.object({ id: Id, name: z.string() })) },
  },
  async ({ partner, query, address }) => {
    const { rows, headers } = await page(address, query, (after, limit) =>
      listMenuCategories(sql, partner.id, after, limit),
    );
    return ok(rows, headers);
  },
);

menu.post(
  "/items",
  { summary: "Add a menu item", auth: "PARTNER", body: NewMenuItem, answers: { 201: MenuItem } },
  async ({ partner, body: { price, ...fields } }) => {
    const row = await insertMenuItem(sql, partner.id, {
      ...fields,
      priceMinor: price,
      description: fields.description ?? null,
      weightGrams: fields.weightGrams ?? null,
      externalId: fields.externalId ?? null,
      available: fields.available ?? true,
    });
    if (!row) throw new Error("the inserted menu item was not returned");
    return created(present(row));
  },
);

menu.put(
  "/items/:id",
  {
    summary: "Change a menu item",
    auth: "PARTNER",
    params: IdParams,
    body: MenuItemChanges,
    answers: { 200: MenuItem },
  },
  async ({ partner, params, body }) => {
    const row = await updateMenuItem(sql, partner.id, params.id, body);
    if (!row) throw notFound("This menu item");
    return ok(present(row));
  },
);

menu.delete(
  "/items/:id",
  {
    summary: "Archive a menu item",
    description: "It leaves the menu and can no longer be ordered; existing orders keep it.",
    auth: "PARTNER",
    params: IdParams,
    answers: { 200: z.object({}) },
  },
  async ({ partner, params }) => {
    if (!(await archiveMenuItem(sql, partner.id, params.id))) throw notFound("This menu item");
    return ok({});
  },
);
