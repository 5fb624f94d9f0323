import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { config } from "../../../lib/process/config.js";
import { limits } from "../../../lib/domain/limits.js";
import { toMajor } from "../../../lib/domain/money.js";
import { inTurn, sql, transaction } from "../../../sql/db.js";
import {
  archiveMenuItem,
  insertMenuItem,
  listMenuCategories,
  listMenuItems,
  updateMenuItem,
  type MenuItemRow,
} from "../../../sql/queries/menu.js";
import { created, found, ok, section } from "../../http/endpoint.js";
import { page, PageQuery } from "../../http/pagination.js";
import { refusalWith } from "../../http/refusal.js";
import { notFound } from "../../http/refusals.js";
import { Amount, changesOf, Id, Money, orNull, QueryFlag, text } from "../../http/schemas.js";

const item = {
  name: text(limits.text.name),
  category: text(limits.text.category).meta({ description: "a name; a category is created when it is first used" }),
  price: Amount,
  description: text(limits.text.description),
  weightGrams: z.int().min(1).max(limits.weightGrams),
  available: z.boolean(),
};

const NewMenuItem = z.object({
  ...item,
  description: orNull(item.description),
  weightGrams: orNull(item.weightGrams),
  available: item.available.optional(),
  externalId: orNull(text(limits.text.externalId)).meta({
    description: "the partner's own key; an existing item with it is updated and restored",
  }),
});

const MenuItemChanges = changesOf({
  ...item,
  description: item.description.nullable(),
  weightGrams: item.weightGrams.nullable(),
});

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

const menuFull = refusalWith(409, "CONFLICT", "MENU_FULL", {
  detail: ({ maxItems }) => `A menu may have at most ${maxItems} items, archived ones too.`,
  remedy: "Change items that are no longer needed instead of adding new ones.",
  facts: { maxItems: z.int() },
  example: { maxItems: 50_000 },
});

export const menu = section({ prefix: "/menu", tag: "Menu" });

menu.get(
  "/items",
  {
    name: "listMenuItems",
    summary: "List your menu",
    auth: "PARTNER",
    query: PageQuery.extend({
      archived: QueryFlag.prefault("false").meta({ description: "`true` includes archived items" }),
    }),
    answers: { 200: z.array(MenuItem) },
  },
  ({ partner, query, address }) =>
    page(address, query, (after, limit) => listMenuItems(sql, partner.id, query.archived, after, limit), present),
);

menu.get(
  "/categories",
  {
    name: "listMenuCategories",
    summary: "List your menu's categories",
    auth: "PARTNER",
    query: PageQuery,
    answers: { 200: z.array(z.object({ id: Id, name: z.string() })) },
  },
  ({ partner, query, address }) =>
    page(address, query, (after, limit) => listMenuCategories(sql, partner.id, after, limit)),
);

menu.post(
  "/items",
  {
    name: "addMenuItem",
    summary: "Add a menu item",
    description: `409: the menu has ${config.MENU_ITEMS} items already, archived ones too; those of a POS do not count.`,
    auth: "PARTNER",
    body: NewMenuItem,
    answers: { 201: MenuItem },
    errors: [menuFull],
  },
  async ({ partner, body: { price, available = true, ...fields } }) => {
    const item = await inTurn(`menu ${partner.id}`, () =>
      transaction(async (tx) => {
        const row = await insertMenuItem(tx, partner.id, { ...fields, priceMinor: price, available });
        if (!row) throw new Error("the inserted menu item was not returned");
        const { ownItems, ...inserted } = row;
        if (ownItems !== null && ownItems > config.MENU_ITEMS) throw menuFull({ maxItems: config.MENU_ITEMS });
        return inserted;
      }),
    );
    return created(present(item));
  },
);

menu.put(
  "/items/:id",
  {
    name: "changeMenuItem",
    summary: "Change a menu item",
    auth: "PARTNER",
    body: MenuItemChanges,
    answers: { 200: MenuItem },
  },
  async ({ partner, params, body }) => {
    const row = await updateMenuItem(sql, partner.id, params.id, body);
    return ok(present(found(row, "This menu item")));
  },
);

menu.delete(
  "/items/:id",
  {
    name: "archiveMenuItem",
    summary: "Archive a menu item",
    description: "It leaves the menu and can no longer be ordered; existing orders keep it.",
    auth: "PARTNER",
    answers: { 200: z.object({}) },
  },
  async ({ partner, params }) => {
    if (!(await archiveMenuItem(sql, partner.id, params.id))) throw notFound("This menu item");
    return ok({});
  },
);
