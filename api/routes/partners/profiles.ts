import slugify from "@sindresorhus/slugify";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { config } from "../../../lib/process/config.js";
import { ApiError, conflict, notFound } from "../../../lib/process/errors.js";
import { limits } from "../../../lib/domain/limits.js";
import { openingHoursErrors } from "../../../lib/domain/opening-hours.js";
import { partnerMoves, type PartnerMove } from "../../../lib/domain/partner-moves.js";
import { geocode } from "../../../queues/index.js";
import { isUniqueViolation, sql, transaction } from "../../../sql/db.js";
import {
  findOwnPartner,
  findPartner,
  findPublicPartner,
  hasPartner,
  insertPartner,
  listPartners,
  lockAccount,
  movePartner,
  updateOwner,
  updatePartner,
  type OwnPartnerRow,
} from "../../../sql/queries/partners.js";
import { stageJob } from "../../../sql/outbox.js";
import { created, ok, section } from "../../http/endpoint.js";
import { presentDistance } from "../../common/coordinates.js";
import { page, PageQuery } from "../../http/pagination.js";
import {
  changesOf,
  CityId,
  Id,
  IdParams,
  Latitude,
  Longitude,
  Phone,
  text,
  Timestamp,
  Zone,
} from "../../http/schemas.js";

const PartnerStatus = z.enum(enums.partnerStatus);

const profile = {
  name: text(limits.text.name),
  cityId: CityId.meta({ description: "the platform's key of the city; an unknown key creates a city" }),
  address: text(limits.text.address),
  latitude: Latitude,
  longitude: Longitude,
};

const details = {
  phone: Phone.optional(),
  email: z.email().max(254).optional(),
  description: text(limits.text.description).optional(),
  timezone: Zone.optional(),
};

const NewPartner = z.object({ ...profile, ...details });

const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be HH:MM");

const Hours = z
  .object({
    day: z.int().min(1).max(7).meta({ description: "1 is Monday" }),
    opens: TimeOfDay.meta({ example: "08:00" }),
    closes: z
      .union([TimeOfDay, z.literal("24:00")])
      .meta({ description: "24:00 is the end of the day", example: "20:00" }),
  })
  .meta({ id: "OpeningHours" });

const SavedHours = z.array(Hours);

const OpeningHours = SavedHours.max(50)
  .superRefine((hours, context) => {
    for (const { index, message } of openingHoursErrors(hours))
      context.addIssue({ code: "custom", path: [index], message });
  })
  .meta({
    description:
      "replaces all opening hours; in the partner's time zone. `closes` is after `opens`, and the hours of one day do not overlap",
  });

const PartnerChanges = changesOf({
  ...profile,
  ...details,
  preparationMinutes: z.int().min(0).max(1_440),
  openingHours: OpeningHours,
});

const PartnerProfile = z
  .object({
    id: Id,
    name: z.string(),
    status: PartnerStatus,
    slug: z.string(),
    cityId: z.string(),
    address: z.string(),
    latitude: z.number(),
    longitude: z.number(),
    description: z.string().nullable(),
    openingHours: SavedHours,
  })
  .meta({ id: "Partner" });

const OwnPartner = z
  .object({
    ...PartnerProfile.shape,
    phone: Phone.nullable(),
    email: z.string().nullable(),
    timezone: z.string(),
    preparationMinutes: z.int(),
  })
  .meta({ id: "OwnPartner" });

const presentOwn = (row: OwnPartnerRow): z.output<typeof OwnPartner> => ({
  ...row,
  openingHours: SavedHours.parse(row.openingHours),
});

const PartnerState = z.object({ id: Id, name: z.string(), status: PartnerStatus });

/** Returns a slug for a name, also when none of its characters can be transliterated. */
const slugOf = (name: string) => slugify(name).slice(0, 80).replace(/-+$/, "") || "partner";

export const partners = section({ prefix: "/partners", tag: "Partners" });

partners.post(
  "/register",
  {
    summary: "Register a partner",
    description:
      "With a token, its user becomes the owner; without, the user who logs in with `phone`. " +
      "The partner then waits for an admin's review.",
    auth: "OPTIONAL_USER",
    body: NewPartner,
    answers: { 201: z.object({ id: Id, status: PartnerStatus, slug: z.string() }) },
    errors: ["409 CONFLICT"],
  },
  async ({ user, body, requestId }) => {
    const ownerId = user?.id ?? null;
    const ownerPhone = user === null ? (body.phone ?? null) : null;
    const taken = conflict("This account or phone belongs to a partner already.");
    const registration = {
      ...body,
      slug: slugOf(body.name),
      cityTimezone: config.DEFAULT_TIMEZONE,
      phone: body.phone ?? null,
      email: body.email ?? null,
      description: body.description ?? null,
      timezone: body.timezone ?? null,
      ownerId,
      ownerPhone,
    };
    const partner = await transaction(async (tx) => {
      if (ownerId !== null) await lockAccount(tx, ownerId);
      if (await hasPartner(tx, ownerId, ownerPhone)) throw taken;
      const registered = await insertPartner(tx, registration);
      if (registered) await stageJob(tx, geocode, { geocodeId: null, partnerId: registered.id }, { requestId });
      return registered;
    }).catch((error: unknown) => {
      throw isUniqueViolation(error) ? taken : error;
    });
    if (!partner) throw new ApiError(401, "UNAUTHORIZED", "This account no longer exists.");
    return created(partner, `/api/v1/partners/${partner.id}`);
  },
);

partners.get(
  "/me",
  { summary: "Read your partner's profile", auth: "PARTNER", answers: { 200: OwnPartner } },
  async ({ partner }) => {
    const found = await findOwnPartner(sql, partner.id);
    if (!found) throw notFound("This partner");
    return ok(presentOwn(found));
  },
);

partners.put(
  "/me",
  {
    summary: "Change your partner's profile",
    description: "Any of the fields, at least one; other fields stay unchanged. The slug never changes.",
    auth: "PARTNER",
    body: PartnerChanges,
    answers: { 200: OwnPartner },
  },
  async ({ partner, body, requestId }) => {
    const moved = body.address !== undefined || body.latitude !== undefined || body.longitude !== undefined;
    const changed = await transaction(async (tx) => {
      if (moved) await stageJob(tx, geocode, { geocodeId: null, partnerId: partner.id }, { requestId });
      return updatePartner(tx, partner.id, body, config.DEFAULT_TIMEZONE);
    });
    if (!changed) throw notFound("This partner");
    return ok(presentOwn(changed));
  },
);

partners.get(
  "/me/status",
  {
    summary: "Read your partner's status",
    auth: "PARTNER",
    answers: { 200: z.object({ status: PartnerStatus, active: z.boolean() }) },
  },
  ({ partner }) => Promise.resolve(ok({ status: partner.status, active: partner.status === "ACTIVE" })),
);

partners.get(
  "/:id",
  {
    summary: "Read a partner's public profile",
    description: "Only of partners that are or were active.",
    auth: "ANYONE",
    params: IdParams,
    answers: { 200: PartnerProfile },
  },
  async ({ params }) => {
    const partner = await findPublicPartner(sql, params.id);
    if (!partner) throw notFound("This partner");
    return ok({ ...partner, openingHours: SavedHours.parse(partner.openingHours) });
  },
);

export const adminPartners = section({ prefix: "/admin/partners", tag: "Partners" });

const PartnerQuery = PageQuery.extend({
  status: PartnerStatus.optional(),
  cityId: CityId.optional(),
  q: text(100).optional().meta({ description: "part of the name, ignoring case" }),
});

const ListedPartner = z.object({
  ...PartnerState.shape,
  slug: z.string(),
  cityId: z.string(),
  address: z.string(),
  addressDistanceMeters: z.number().nullable().meta({
    description:
      "distance of the coordinates from the geocoded address; null while it is not geocoded or was not found",
    example: 412.5,
  }),
  addressDoubtful: z.boolean().meta({ description: "whether that distance is more than a kilometre" }),
  createdAt: Timestamp,
});

/** Coordinates farther from the address than this are doubtful; metres. */
const doubtfulDistance = 1_000;

adminPartners.get(
  "/",
  {
    summary: "List partners, newest first",
    auth: "ADMIN",
    query: PartnerQuery,
    answers: { 200: z.array(ListedPartner) },
  },
  async ({ query, address }) => {
    const filter = { status: query.status ?? null, cityId: query.cityId ?? null, q: query.q ?? null };
    const { rows, headers } = await page(address, query, (after, limit) => listPartners(sql, filter, after, limit));
    return ok(
      rows.map(({ addressDistance, ...row }) => ({
        ...row,
        addressDistanceMeters: addressDistance === null ? null : presentDistance(addressDistance),
        addressDoubtful: addressDistance !== null && addressDistance > doubtfulDistance,
        createdAt: row.createdAt.toISOString(),
      })),
      headers,
    );
  },
);

/** Declares one of the admin's moves; repeating a move returns the state that it led to. */
function declareMove(path: string, summary: string, move: PartnerMove): void {
  adminPartners.put(
    `/:id/${path}`,
    {
      summary,
      auth: "ADMIN",
      params: IdParams,
      body: z.object({ reason: text(1_000).optional() }),
      answers: { 200: PartnerState },
      errors: ["409 CONFLICT"],
    },
    async ({ user, params, body, requestId }) => {
      const reason = body.reason ?? null;
      const moved = await movePartner(sql, params.id, move, user.id, reason, requestId).catch((error: unknown) => {
        throw isUniqueViolation(error) ? conflict("Another partner now has this owner's phone.") : error;
      });
      if (moved) return ok(moved);
      const partner = await findPartner(sql, params.id);
      if (!partner) throw notFound("This partner");
      if (partner.status !== partnerMoves[move].to)
        throw conflict(`A partner that is ${partner.status} does not allow this move.`);
      return ok(partner);
    },
  );
}

declareMove("approve", "Approve a partner (also after a rejection or suspension)", "APPROVE");
declareMove("reject", "Reject a registration", "REJECT");
declareMove("suspend", "Suspend a partner", "SUSPEND");

adminPartners.put(
  "/:id/owner",
  {
    summary: "Change a partner's owner",
    description: "To the user with this phone, at once or on their first login. The previous owner loses access.",
    auth: "ADMIN",
    params: IdParams,
    body: z.object({ phone: Phone }),
    answers: {
      200: PartnerState.extend({ ownerId: Id.nullable().meta({ description: "null until their first login" }) }),
    },
    errors: ["409 CONFLICT"],
  },
  async ({ user, params: { id }, body: { phone } }) => {
    const linked = await transaction((tx) => updateOwner(tx, id, phone, user.id)).catch((error: unknown) => {
      throw isUniqueViolation(error) ? conflict("This user owns, or will own, another partner.") : error;
    });
    if (!linked) throw notFound("This partner");
    return ok(linked);
  },
);
