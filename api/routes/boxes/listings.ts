import { z } from "zod";
import type { FieldError } from "../../../lib/process/errors.js";
import { limits } from "../../../lib/domain/limits.js";
import { fanOut } from "../../../queues/index.js";
import { contended, sql, transaction, type Db } from "../../../sql/db.js";
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
  eventOf,
  OwnListedBox,
  presentBox,
  presentOwnBox,
  presentWithItems,
  repeatOf,
} from "./presentation.js";
import type { Title } from "../../http/declaration.js";
import { created, found, noContent, ok, section } from "../../http/endpoint.js";
import { refusal } from "../../http/refusal.js";
import { invalidFields } from "../../http/refusals.js";
import { claimOwnImage, imageNotReady } from "../../common/own-image.js";
import { page, PageQuery } from "../../http/pagination.js";
import { changesOf, Id, orNull, QueryFlag, withChanges } from "../../http/schemas.js";

const { title, description, price, originalPrice, quantity, weightGrams, maxPerCustomer, items, repeat } = boxFields;
const { pickupWindowStart, pickupWindowEnd, imageFileId } = boxFields;

const ownImage = (tx: Db, fileId: string, userId: string) =>
  claimOwnImage(tx, fileId, userId, { path: "imageFileId", code: "VALIDATION_ERROR" });

const NewBox = z
  .object({
    title,
    description: orNull(description),
    price,
    originalPrice: orNull(originalPrice),
    quantity,
    weightGrams: orNull(weightGrams),
    maxPerCustomer: orNull(maxPerCustomer),
    pickupWindowStart,
    pickupWindowEnd,
    items: items.optional(),
    repeat: orNull(repeat),
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
  maxPerCustomer: maxPerCustomer.nullable(),
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
    name: "listPartnerBoxes",
    summary: "List a partner's boxes, newest first",
    description: "The boxes on offer. With `all=true` the partner's owner and staff see hidden and expired boxes too.",
    auth: "OPTIONAL_USER",
    query: PageQuery.extend({ all: QueryFlag.prefault("false") }),
    shared: "stock",
    answers: { 200: z.array(OwnListedBox) },
  },
  async ({ user, params, query, address, searches }) => {
    const { partnerId } = params;
    const own = query.all && user !== null && (await findPrincipal(sql, user.id))?.partnerId === partnerId;
    const list = (after: string | null, limit: number) =>
      listBoxesByPartner(own ? sql : searches(limit), partnerId, own, after, limit);
    const answer = await page(address, query, list, own ? presentOwnBox : presentBox);
    if (answer.body.length === 0) found(await findPartner(sql, partnerId), "This partner");
    return answer;
  },
);

/** Finds a partner's own box; throws 404 for other boxes. */
const ownBox = async (id: string, partnerId: string) => found(await findOwnBox(sql, id, partnerId), "This box");

boxes.get(
  "/:id",
  {
    name: "readBox",
    summary: "Read a box",
    description: "Only the partner's owner and staff can read a hidden box, or one of a partner that is not active.",
    auth: "OPTIONAL_USER",
    shared: "stock",
    answers: { 200: Box },
  },
  async ({ user, params: { id }, reads }) => {
    const box = await findBox(reads, id);
    if (box) return ok(presentWithItems(box));
    const partnerId = user && (await findPrincipal(sql, user.id))?.partnerId;
    return ok(presentWithItems(await ownBox(id, found(partnerId, "This box"))));
  },
);

boxes.post(
  "/",
  {
    name: "createBox",
    summary: "List a box",
    auth: "ACTIVE_PARTNER",
    body: NewBox,
    answers: { 201: BoxState },
    errors: [imageNotReady],
  },
  async ({ user, partner, body, requestId }) => {
    const { imageFileId, price: priceMinor, originalPrice: originalPriceMinor, items = [], ...terms } = body;
    const fields = { ...terms, priceMinor, originalPriceMinor, items };
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

const boxExpired = refusal(
  409,
  "CONFLICT",
  "BOX_EXPIRED",
  "This box's pickup window has ended: list it again instead.",
  "List the box again: `POST /boxes/{id}/repeat`.",
);
const boxHasOrders = refusal(
  409,
  "CONFLICT",
  "BOX_HAS_ORDERS",
  "This box has orders that are not cancelled: hide it instead.",
  "Hide the box: `POST /boxes/{id}/hide`.",
);
const nothingToRepeat = refusal(
  409,
  "CONFLICT",
  "NOTHING_TO_REPEAT",
  "There is nothing to list: this box was offered with quantity 0.",
  "List a new box with the quantity you have.",
);

const foreignItems = () =>
  invalidFields("VALIDATION_ERROR", [{ path: "items", message: "some are not on this partner's menu" }]);

/** Applies the changes to a box; throws 400 when the result is invalid. */
function merge(box: OwnBoxRow, changes: Omit<z.output<typeof BoxChanges>, "imageFileId" | "items">) {
  const { price: priceMinor, originalPrice: originalPriceMinor, quantity, ...others } = changes;
  const offered = quantity ?? box.quantityAvailable + box.quantityReserved;
  const before = { ...box, repeat: repeatOf(box), quantityAvailable: offered - box.quantityReserved };
  const merged = withChanges(before, { ...others, priceMinor, originalPriceMinor });
  const flaws: FieldError[] = flawsOf({
    ...merged,
    price: merged.priceMinor,
    originalPrice: merged.originalPriceMinor,
  });
  if (merged.quantityAvailable < 0)
    flaws.push({ path: "quantity", message: `must not be below the ${box.quantityReserved} that are sold` });
  if (flaws.length > 0) throw invalidFields("VALIDATION_ERROR", flaws);
  return merged;
}

boxes.put(
  "/:id",
  {
    name: "changeBox",
    summary: "Change a box",
    description:
      "Orders keep what they were placed with. When the pickup window has ended, only `repeat` can be changed. A hidden box " +
      "is not repeated.",
    auth: "ACTIVE_PARTNER",
    body: BoxChanges,
    answers: { 200: BoxState },
    errors: [boxExpired, imageNotReady],
  },
  async ({ user, partner, params: { id }, body, requestId }) => {
    const { imageFileId, items, ...changes } = body;
    const changed = await transaction(async (tx) => {
      const box = found(await lockOwnBox(tx, id, partner.id), "This box");
      if (box.status === null || box.status === "EXPIRED") {
        if (body.repeat === undefined || Object.keys(body).length > 1) throw boxExpired();
        return updateBoxRepeat(tx, box.id, body.repeat);
      }
      if (items && !(await replaceBoxItems(tx, box.id, partner.id, items))) throw foreignItems();
      const merged = merge(box, changes);
      const event = eventOf(box, merged);
      if (event) await stageJob(tx, fanOut, { event, subjectId: box.id, after: null }, { requestId });
      const image = imageFileId === undefined ? box.image : imageFileId && (await ownImage(tx, imageFileId, user.id));
      const updated = await updateBox(tx, box.id, { ...merged, image });
      if (image !== box.image) await releaseImage(tx, box.image);
      return updated;
    });
    return ok(found(changed, "This box"));
  },
);

boxes.patch(
  "/:id/quantity",
  {
    name: "setBoxQuantity",
    summary: "Set how many of a box are available",
    description:
      "Independent of how many were sold. A concurrent order reduces the new number, or has reduced the old one.",
    auth: "ACTIVE_PARTNER",
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
    errors: [boxExpired],
  },
  async ({ partner, params: { id }, body, requestId }) => {
    const changed = await updateBoxQuantity(contended, id, partner.id, body.available, requestId);
    if (changed) return ok(changed);
    await ownBox(id, partner.id);
    throw boxExpired();
  },
);

const declareVisibility = (path: `/:id/${string}`, hidden: boolean, title: Title) =>
  boxes.post(
    path,
    {
      ...title,
      auth: "PARTNER",
      answers: { 200: z.object({ id: Id, hidden: z.boolean() }) },
    },
    async ({ partner, params: { id } }) => {
      found(await updateBoxHidden(sql, id, partner.id, hidden), "This box");
      return ok({ id, hidden });
    },
  );

declareVisibility("/:id/hide", true, { name: "hideBox", summary: "Hide a box from the public" });
declareVisibility("/:id/unhide", false, { name: "unhideBox", summary: "Show a hidden box again" });

boxes.delete(
  "/:id",
  {
    name: "deleteBox",
    summary: "Delete a box",
    description: "Only a box without orders, or whose orders were all cancelled; others can be hidden.",
    auth: "PARTNER",
    answers: { 204: null },
    errors: [boxHasOrders],
  },
  async ({ partner, params: { id } }) => {
    if (await deleteBox(sql, id, partner.id)) return noContent();
    await ownBox(id, partner.id);
    throw boxHasOrders();
  },
);

boxes.post(
  "/:id/repeat",
  {
    name: "repeatBox",
    summary: "List a box again",
    description:
      "With the same quantity and contents, on the next day on which its window, at the same local time, has not ended.",
    auth: "ACTIVE_PARTNER",
    answers: { 201: Box },
    errors: [nothingToRepeat],
  },
  async ({ partner, params: { id }, requestId }) => {
    const repeated = found(await repeatBox(sql, id, partner.id, requestId), "This box");
    if (repeated.id === null) throw nothingToRepeat();
    return created(presentWithItems(await ownBox(repeated.id, partner.id)), `/api/v1/boxes/${repeated.id}`);
  },
);
