import slugify from "@sindresorhus/slugify";
import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { config } from "../../../lib/process/config.js";
import { limits } from "../../../lib/domain/limits.js";
import { openingHoursErrors } from "../../../lib/domain/opening-hours.js";
import { partnerMoves, type PartnerMove } from "../../../lib/domain/partner-moves.js";
import { inTurn, isUniqueViolation, sql, transaction, type Db } from "../../../sql/db.js";
import {
  countOpenRegistrations,
  declinePartner,
  findOwnPartner,
  findPartner,
  findPublicPartner,
  insertPartner,
  listPartners,
  lockAccount,
  makeRoomForPartner,
  movePartner,
  updateOwner,
  updatePartner,
  type OwnPartnerRow,
} from "../../../sql/queries/partners.js";
import { stageAddressCheck } from "../../../sql/queries/geocodes.js";
import { sessionEnded } from "../../http/refusals.js";
import {
  alreadyMember,
  ownerPhoneTaken,
  ownerTaken,
  partnerMoveNotAllowed,
  partnerNotDeclinable,
  tooManyRegistrations,
} from "./refusals.js";
import { clientNetwork } from "../../http/client-network.js";
import type { Title } from "../../http/declaration.js";
import { created, found, noContent, ok, section } from "../../http/endpoint.js";
import { presentDistance } from "../../common/coordinates.js";
import { limitAddress } from "../../http/limits.js";
import { page, PageQuery } from "../../http/pagination.js";
import {
  changesOf,
  CityId,
  Id,
  Latitude,
  Longitude,
  orNull,
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
  phone: Phone,
  email: z.email().max(254),
  description: text(limits.text.description),
  timezone: Zone,
};

const NewPartner = z.object({
  ...profile,
  phone: orNull(details.phone),
  email: orNull(details.email),
  description: orNull(details.description),
  timezone: orNull(details.timezone),
});

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
  phone: details.phone.nullable(),
  email: details.email.nullable(),
  description: details.description.nullable(),
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

const mostOpenRegistrations = 3;

/** Throws 409 when enough registrations name a phone. Nothing here may depend on who has the phone: the caller is anyone. */
async function refuseMoreRegistrations(tx: Db, phone: string): Promise<void> {
  if ((await countOpenRegistrations(tx, phone, mostOpenRegistrations)) === mostOpenRegistrations)
    throw tooManyRegistrations({ maxRegistrations: mostOpenRegistrations });
}

export const partners = section({ prefix: "/partners", tag: "Partners" });

partners.post(
  "/register",
  {
    name: "registerPartner",
    summary: "Register a partner",
    description:
      "With a token, its user becomes the owner; without, the user who logs in with `phone`, who may decline it. The partner " +
      "then waits for an admin's review. A registration with a token takes the place of those that wait for review and were " +
      `made with the user's phone without one. At most ${mostOpenRegistrations} that wait for review name one phone.`,
    auth: "OPTIONAL_USER",
    body: NewPartner,
    // the longest texts, in the longest JSON: each character as an escape of six bytes
    bodyBytes: 32_768,
    answers: { 201: z.object({ id: Id, status: PartnerStatus, slug: z.string() }) },
    errors: [alreadyMember, tooManyRegistrations],
  },
  async ({ user, body, ip, requestId }) => {
    const ownerId = user?.id ?? null;
    const ownerPhone = user === null ? body.phone : null;
    const slug = slugOf(body.name);
    const registration = { ...body, slug, cityTimezone: config.DEFAULT_TIMEZONE, ownerId, ownerPhone };
    const partner = await inTurn(`registrations ${ownerId ?? clientNetwork(ip)}`, () =>
      transaction(async (tx) => {
        if (ownerId !== null) {
          await lockAccount(tx, ownerId);
          if (!(await makeRoomForPartner(tx, ownerId))) throw alreadyMember();
        } else {
          await limitAddress(tx, "registration", ip, config.REGISTRATIONS_PER_ADDRESS, 60);
          if (ownerPhone !== null) await refuseMoreRegistrations(tx, ownerPhone);
        }
        const registered = await insertPartner(tx, registration);
        if (registered) await stageAddressCheck(tx, registered.id, requestId);
        return registered;
      }),
    );
    if (!partner) throw sessionEnded();
    return created(partner, `/api/v1/partners/${partner.id}`);
  },
);

partners.get(
  "/me",
  { name: "readOwnPartner", summary: "Read your partner's profile", auth: "PARTNER", answers: { 200: OwnPartner } },
  async ({ partner }) => ok(presentOwn(found(await findOwnPartner(sql, partner.id), "This partner"))),
);

partners.put(
  "/me",
  {
    name: "changeOwnPartner",
    summary: "Change your partner's profile",
    description: "The slug never changes.",
    auth: "PARTNER",
    body: PartnerChanges,
    answers: { 200: OwnPartner },
  },
  async ({ partner, body, requestId }) => {
    const moved = body.address !== undefined || body.latitude !== undefined || body.longitude !== undefined;
    const changed = await transaction(async (tx) => {
      const profile = await updatePartner(tx, partner.id, body, config.DEFAULT_TIMEZONE);
      if (moved) await stageAddressCheck(tx, partner.id, requestId);
      return profile;
    });
    return ok(presentOwn(found(changed, "This partner")));
  },
);

partners.post(
  "/me/decline",
  {
    name: "declineOwnPartner",
    summary: "Decline a partner that was registered with your phone",
    description:
      "Anyone can register a partner with any phone; its new owner is notified (`PARTNER_OWNED`). Declining gives up the " +
      "partner, which is suspended if it has no staff. The next registration with your phone, if one waits, is yours then.",
    auth: "PARTNER",
    answers: { 204: null },
    errors: [partnerNotDeclinable],
  },
  async ({ user }) => {
    if (!(await declinePartner(sql, user.id))) throw partnerNotDeclinable();
    return noContent();
  },
);

partners.get(
  "/me/status",
  {
    name: "readOwnPartnerStatus",
    summary: "Read your partner's status",
    auth: "PARTNER",
    answers: { 200: z.object({ status: PartnerStatus, active: z.boolean() }) },
  },
  ({ partner }) => Promise.resolve(ok({ status: partner.status, active: partner.status === "ACTIVE" })),
);

partners.get(
  "/:id",
  {
    name: "readPartner",
    summary: "Read a partner's public profile",
    description: "Only of partners that are or were active.",
    auth: "ANYONE",
    shared: "profile",
    answers: { 200: PartnerProfile },
  },
  async ({ params, reads }) => {
    const partner = found(await findPublicPartner(reads, params.id), "This partner");
    return ok({ ...partner, openingHours: SavedHours.parse(partner.openingHours) });
  },
);

export const adminPartners = section({ prefix: "/admin/partners", tag: "Partners" });

const PartnerQuery = PageQuery.extend({
  status: orNull(PartnerStatus),
  cityId: orNull(CityId),
  q: orNull(text(100)).meta({ description: "part of the name, ignoring case" }),
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
    name: "listPartners",
    summary: "List partners, newest first",
    auth: "ADMIN",
    query: PartnerQuery,
    answers: { 200: z.array(ListedPartner) },
  },
  ({ query, address }) =>
    page(
      address,
      query,
      (after, limit) => listPartners(sql, query, after, limit),
      ({ addressDistance, ...row }) => ({
        ...row,
        addressDistanceMeters: addressDistance === null ? null : presentDistance(addressDistance),
        addressDoubtful: addressDistance !== null && addressDistance > doubtfulDistance,
      }),
    ),
);

/** Declares one of the admin's moves; repeating a move returns the state that it led to. */
function declareMove(path: `/:id/${string}`, title: Title, move: PartnerMove): void {
  adminPartners.put(
    path,
    {
      ...title,
      auth: "ADMIN",
      body: z.object({ reason: orNull(text(1_000)) }),
      answers: { 200: PartnerState },
      errors: [partnerMoveNotAllowed, ownerPhoneTaken],
    },
    async ({ user, params: { id }, body: { reason }, requestId }) => {
      const moved = await movePartner(sql, id, move, user.id, reason, requestId).catch((error: unknown) => {
        throw isUniqueViolation(error) ? ownerPhoneTaken() : error;
      });
      if (moved) return ok(moved);
      const partner = found(await findPartner(sql, id), "This partner");
      if (partner.status !== partnerMoves[move].to) throw partnerMoveNotAllowed({ partnerStatus: partner.status });
      return ok(partner);
    },
  );
}

declareMove(
  "/:id/approve",
  { name: "approvePartner", summary: "Approve a partner (also after a rejection or suspension)" },
  "APPROVE",
);
declareMove("/:id/reject", { name: "rejectPartner", summary: "Reject a registration" }, "REJECT");
declareMove("/:id/suspend", { name: "suspendPartner", summary: "Suspend a partner" }, "SUSPEND");

adminPartners.put(
  "/:id/owner",
  {
    name: "changePartnerOwner",
    summary: "Change a partner's owner",
    description:
      "To the user with this phone, at once or on their first login. The previous owner loses access. Another partner that " +
      "the user worked for is suspended when it has neither owner nor staff left.",
    auth: "ADMIN",
    body: z.object({ phone: Phone }),
    answers: {
      200: PartnerState.extend({ ownerId: Id.nullable().meta({ description: "null until their first login" }) }),
    },
    errors: [ownerTaken],
  },
  async ({ user, params: { id }, body: { phone } }) => {
    const linked = await transaction((tx) => updateOwner(tx, id, phone, user.id)).catch((error: unknown) => {
      throw isUniqueViolation(error) ? ownerTaken() : error;
    });
    return ok(found(linked, "This partner"));
  },
);
