import { z } from "zod";
import { conflict, notFound } from "../../../lib/process/errors.js";
import { limits } from "../../../lib/domain/limits.js";
import { fanOut } from "../../../queues/index.js";
import { contended, lookups, sql, transaction, type Db } from "../../../sql/db.js";
import {
  deleteBox,
  findBox,
  findOwnBox,
  insertBox,
  listBoxesByPartner,
  lockOwnBox,
  repeatBox,
  replaceBoxItems,
  updateBox,
  updateBoxHidden,
  updateBoxQuantity,
  updateBoxRepeat,
  type OwnBoxRow,
} from "../../../sql/queries/boxes.js";
import { releaseImage } from "../../../sql/queries/files.js";
import { findPartner } from "../../../sql/queries/partners.js";
import { stageJob } from "../../../sql/outbox.js";
import { findPrincipal } from "../../../sql/queries/users.js";
import {
  Box,
  boxFields,
  BoxState,
  flawsOf,
  foreignItems,
  invalidBox,
  eventOf,
  OwnListedBox,
  presentBox,
  presentOwnBox,
} from "./presentation.js";
import { created, noContent, ok, section } from "../../http/endpoint.js";
import { claimOwnImage } from "../../common/own-image.js";
import { page, PageQuery } from "../../http/pagination.js";
import { changesOf, Id, IdParams, QueryFlag } from "../../http/schemas.js";

const { title, description, price, originalPrice, quantity, weightGrams, items, repeat } = boxFields;
const { pickupWindowStart, pickupWindowEnd, imageFileId } = boxFields;

const ownImage = (tx: Db, fileId: string, userId: string) =>
  claimOwnImage(tx, fileId, userId, { path: "imageFileId", code: "VALIDATION_ERROR" });

const NewBox = z
  .object({
    title,
    description: description.optional(),
    price,
    originalPrice: originalPrice.optional(),
    quantity,
    weightGrams: weightGrams.optional(),
    pickupWindowStart,
    pickupWindowEnd,
    items: items.optional(),
    repeat: repeat.optional(),
    imageFileId: imageFileId.optional(),
  })
  .superRefine((box, context) => {
    for (const { path, message } of flawsOf(box)) context.addIssue({ code: "custom", path: [path], message });
  });

const BoxChanges = changesOf({
  title,
  description: description.nullable(),
  price,
  originalPrice: originalPrice.nullable(),
  quantity: quantity.meta({ description: "how many are offered in all, including those sold" }),
  weightGrams: weightGrams.nullable(),
  pickupWindowStart,
  pickupWindowEnd,
  items: items.meta({ description: "replaces the contents" }),
  repeat: repeat.nullable(),
  imageFileId: imageFileId.nullable(),
});

export const boxes = section({ prefix: "/boxes", tag: "Boxes" });

boxes.get(
  "/by-partner/:partnerId",
  {
    summary: "List a partner's boxes, newest first",
    description: "The boxes on offer. With `all=true` the partner's owner and staff see hidden and expired boxes too.",
    auth: "OPTIONAL_USER",
    params: z.object({ partnerId: Id }),
    query: PageQuery.extend({ all: QueryFlag.default(false) }),
    answers: { 200: z.array(OwnListedBox) },
  },
  async ({ user, params, query, address }) => {
    const own =
      query.all && user !== null && (await findPrincipal(sql, user.id))?.partnerId === params.partnerId.toLowerCase();
    const { rows, headers } = await page(address, query, (after, limit) =>
      listBoxesByPartner(sql, params.partnerId, own, after, limit),
    );
    if (rows.length === 0 && !(await findPartner(sql, params.partnerId))) throw notFound("This partner");
    return ok(rows.map(own ? presentOwnBox : presentBox), headers);
  },
);

/** Finds a partner's own box; throws 404 for other boxes. */
async function ownBox(id: string, partnerId: string): Promise<OwnBoxRow> {
  const box = await findOwnBox(sql, id, partnerId);
  if (!box) throw notFound("This box");
  return box;
}

boxes.get(
  "/:id",
  {
    summary: "Read a box",
    description: "Only the partner's owner and staff can read a hidden box, or one of a partner that is not active.",
    auth: "OPTIONAL_USER",
    params: IdParams,
    answers: { 200: Box },
  },
  async ({ user, params: { id } }) => {
    const box = await findBox(lookups, id);
    if (box) return ok({ ...presentBox(box), items: box.items ?? [] });
    const partnerId = user && (await findPrincipal(sql, user.id))?.partnerId;
    if (!partnerId) throw notFound("This box");
    const own = await ownBox(id, partnerId);
    return ok({ ...presentBox(own), items: own.items ?? [] });
  },
);

boxes.post(
  "/",
  { summary: "List a box", auth: "ACTIVE_PARTNER", body: NewBox, answers: { 201: BoxState }, errors: ["409 CONFLICT"] },
  async ({ user, partner, body: { imageFileId, ...body }, requestId }) => {
    const fields = {
      title: body.title,
      description: body.description ?? null,
      priceMinor: body.price,
      originalPriceMinor: body.originalPrice ?? null,
      weightGrams: body.weightGrams ?? null,
      quantity: body.quantity,
      pickupWindowStart: body.pickupWindowStart,
      pickupWindowEnd: body.pickupWindowEnd,
      repeat: body.repeat ?? null,
      items: body.items ?? [],
    };
    const box =
      imageFileId === undefined
        ? await insertBox(sql, partner.id, { ...fields, image: null }, requestId)
        : await transaction(async (tx) =>
            insertBox(tx, partner.id, { ...fields, image: await ownImage(tx, imageFileId, user.id) }, requestId),
          );
    if (!box) throw foreignItems();
    return created(box, `/api/v1/boxes/${box.id}`);
  },
);

const expired = () => conflict("This box's pickup window has ended: list it again instead.");

/** Applies the changes to a box; throws 400 when the result is invalid. */
function merge(box: OwnBoxRow, changes: Omit<z.output<typeof BoxChanges>, "imageFileId">) {
  const offered = changes.quantity ?? box.quantityAvailable + box.quantityReserved;
  const kept = box.repeatDays && box.repeatUntil ? { days: box.repeatDays, until: box.repeatUntil } : null;
  const merged = {
    title: changes.title ?? box.title,
    description: changes.description === undefined ? box.description : changes.description,
    priceMinor: changes.price ?? box.priceMinor,
    originalPriceMinor: changes.originalPrice === undefined ? box.originalPriceMinor : changes.originalPrice,
    weightGrams: changes.weightGrams === undefined ? box.weightGrams : changes.weightGrams,
    quantityAvailable: offered - box.quantityReserved,
    pickupWindowStart: changes.pickupWindowStart ?? box.pickupWindowStart,
    pickupWindowEnd: changes.pickupWindowEnd ?? box.pickupWindowEnd,
    repeat: changes.repeat === undefined ? kept : changes.repeat,
  };
  const flaws: { path: string; message: string }[] = flawsOf({
    ...merged,
    price: merged.priceMinor,
    originalPrice: merged.originalPriceMinor,
  });
  if (merged.quantityAvailable < 0)
    flaws.push({ path: "quantity", message: `must not be below the ${box.quantityReserved} that are sold` });
  if (flaws.length > 0) throw invalidBox(...flaws);
  return merged;
}

boxes.put(
  "/:id",
  {
    summary: "Change a box",
    description:
      "Any of the fields, at least one; other fields stay unchanged. Orders keep what they were placed with. When the pickup " +
      "window has ended, only `repeat` can be changed. A hidden box is not repeated.",
    auth: "ACTIVE_PARTNER",
    params: IdParams,
    body: BoxChanges,
    answers: { 200: BoxState },
    errors: ["409 CONFLICT"],
  },
  async ({ user, partner, params: { id }, body: { imageFileId, ...body }, requestId }) => {
    const changed = await transaction(async (tx) => {
      const box = await lockOwnBox(tx, id, partner.id);
      if (!box) throw notFound("This box");
      if (box.status === null || box.status === "EXPIRED") {
        const { repeat, ...others } = body;
        if (
          repeat === undefined ||
          imageFileId !== undefined ||
          Object.values(others).some((value) => value !== undefined)
        )
          throw expired();
        return updateBoxRepeat(tx, box.id, repeat);
      }
      if (body.items && !(await replaceBoxItems(tx, box.id, partner.id, body.items))) throw foreignItems();
      const merged = merge(box, body);
      const event = eventOf(box, merged);
      if (event) await stageJob(tx, fanOut, { event, subjectId: box.id, after: null }, { requestId });
      if (imageFileId === undefined) return updateBox(tx, box.id, { ...merged, image: box.image });
      const image = imageFileId && (await ownImage(tx, imageFileId, user.id));
      const updated = await updateBox(tx, box.id, { ...merged, image });
      if (image !== box.image) await releaseImage(tx, box.image);
      return updated;
    });
    if (!changed) throw notFound("This box");
    return ok(changed);
  },
);

boxes.patch(
  "/:id/quantity",
  {
    summary: "Set how many of a box are available",
    description:
      "Independent of how many were sold. A concurrent order reduces the new number, or has reduced the old one.",
    auth: "ACTIVE_PARTNER",
    params: IdParams,
    body: z
      .object({
        quantityAvailable: z.int().min(0).max(limits.box.boxes),
        quantity: z.int().min(0).max(limits.box.boxes).meta({ description: "synonym of `quantityAvailable`" }),
      })
      .partial()
      .transform(({ quantityAvailable, quantity }, context) => {
        const available = quantityAvailable ?? quantity;
        if (available !== undefined) return { available };
        context.addIssue({ code: "custom", path: ["quantityAvailable"], message: "is missing" });
        return z.NEVER;
      })
      .meta({ example: { quantityAvailable: 5 } }),
    answers: { 200: z.object({ id: Id, quantityAvailable: z.int() }) },
    errors: ["409 CONFLICT"],
  },
  async ({ partner, params: { id }, body, requestId }) => {
    const changed = await updateBoxQuantity(contended, id, partner.id, body.available, requestId);
    if (changed) return ok(changed);
    await ownBox(id, partner.id);
    throw expired();
  },
);

const declareVisibility = (path: "hide" | "unhide", hidden: boolean, summary: string) =>
  boxes.post(
    `/:id/${path}`,
    {
      summary,
      auth: "PARTNER",
      params: IdParams,
      answers: { 200: z.object({ id: Id, hidden: z.boolean() }) },
    },
    async ({ partner, params: { id } }) => {
      const changed = await updateBoxHidden(sql, id, partner.id, hidden);
      if (!changed) throw notFound("This box");
      return ok({ id: changed.id, hidden });
    },
  );

declareVisibility("hide", true, "Hide a box from the public");
declareVisibility("unhide", false, "Show a hidden box again");

boxes.delete(
  "/:id",
  {
    summary: "Delete a box",
    description: "Only a box without orders, or whose orders were all cancelled; others can be hidden.",
    auth: "PARTNER",
    params: IdParams,
    answers: { 204: null },
    errors: ["409 CONFLICT"],
  },
  async ({ partner, params: { id } }) => {
    if (await deleteBox(sql, id, partner.id)) return noContent();
    await ownBox(id, partner.id);
    throw conflict("This box has orders that are not cancelled: hide it instead.");
  },
);

boxes.post(
  "/:id/repeat",
  {
    summary: "List a box again",
    description:
      "With the same quantity and contents, on the next day on which its window, at the same local time, has not ended.",
    auth: "ACTIVE_PARTNER",
    params: IdParams,
    answers: { 201: Box },
    errors: ["409 CONFLICT"],
  },
  async ({ partner, params: { id }, requestId }) => {
    const repeated = await repeatBox(sql, id, partner.id, requestId);
    if (!repeated) throw notFound("This box");
    if (repeated.id === null) throw conflict("There is nothing to list: this box was offered with quantity 0.");
    const box = await ownBox(repeated.id, partner.id);
    return created({ ...presentBox(box), items: box.items ?? [] }, `/api/v1/boxes/${box.id}`);
  },
);
