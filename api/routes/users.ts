import { z } from "zod";
import { config } from "../../lib/config.js";
import { ApiError } from "../../lib/errors.js";
import { lookups, sql } from "../../sql/db.js";
import { findProfile, updateProfile, type Profile } from "../../sql/queries/users.js";
import { ok, section } from "../endpoint.js";
import { Id, Locale, Phone, text, Zone } from "../schemas.js";

export const users = section({ prefix: "/users", tag: "Users" });

const UserProfile = z
  .object({
    id: Id,
    serviceId: z.string().meta({ example: "SF-7K3M9QX2" }),
    phone: Phone,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    email: z.string().nullable(),
    avatarUrl: z.string().nullable(),
    locale: Locale,
    timezone: z.string(),
    active: z.boolean(),
  })
  .meta({ id: "UserProfile" });

const ProfileChanges = z
  .object({
    firstName: text(100),
    lastName: text(100),
    email: z.email().max(254),
    locale: Locale,
    timezone: Zone,
  })
  .partial()
  .refine((changes) => Object.values(changes).some((value) => value !== undefined), "must change at least one field");

/** An account that was deleted after its token was issued is as unknown as any other. */
const existing = (profile: Profile | null): Profile => {
  if (profile === null) throw new ApiError(401, "UNAUTHORIZED", "This account no longer exists.");
  return profile;
};

const present = (profile: Profile): z.output<typeof UserProfile> => ({
  ...profile,
  timezone: profile.timezone ?? config.DEFAULT_TIMEZONE,
  active: true,
});

users.get(
  "/me",
  { summary: "Shows one's own profile", auth: "USER", answers: { 200: UserProfile } },
  async ({ user }) => ok(present(existing(await findProfile(lookups, user.id)))),
);

users.put(
  "/me",
  {
    summary: "Changes one's own profile",
    description: "Any of the fields, at least one; what is not sent stays as it is.",
    auth: "USER",
    body: ProfileChanges,
    answers: { 200: UserProfile },
  },
  async ({ user, body }) => {
    await updateProfile(sql, user.id, body);
    return ok(present(existing(await findProfile(lookups, user.id))));
  },
);

users.get(
  "/me/service-id",
  { summary: "Shows one's own public identifier", auth: "USER", answers: { 200: z.object({ serviceId: z.string() }) } },
  async ({ user }) => ok({ serviceId: existing(await findProfile(lookups, user.id)).serviceId }),
);
