import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { ApiError } from "../../../lib/process/errors.js";
import { imageAddress } from "../../../lib/storage/file-store.js";
import { lookups, sql, transaction, type Db } from "../../../sql/db.js";
import { releaseImage } from "../../../sql/queries/files.js";
import { bringDeferredForward } from "../../../sql/queries/notifications.js";
import { findPreferences, lockPreferences, updatePreferences } from "../../../sql/queries/preferences.js";
import { deleteAccount, findProfile, updateAvatar, updateProfile, type Profile } from "../../../sql/queries/users.js";
import { noContent, ok, section } from "../../http/endpoint.js";
import { ImageFileId, claimOwnImage } from "../../common/own-image.js";
import { changesOf, HttpsAddress, Id, Locale, Phone, text, Zone } from "../../http/schemas.js";

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

const ProfileChanges = changesOf({
  firstName: text(100),
  lastName: text(100),
  email: z.email().max(254),
  locale: Locale,
  timezone: Zone,
});

const gone = () => new ApiError(401, "UNAUTHORIZED", "This account no longer exists.");

/** Throws 401 for an account that was deleted during its own request. */
const existing = (profile: Profile | null): Profile => {
  if (profile === null) throw gone();
  return profile;
};

const present = ({ avatar, ...profile }: Profile): z.output<typeof UserProfile> => ({
  ...profile,
  avatarUrl: avatar === null ? profile.avatarUrl : imageAddress(avatar),
  timezone: profile.timezone ?? config.DEFAULT_TIMEZONE,
  active: true,
});

/** Changes what decides when a user gets pushes; deferred notifications are then decided again. */
const changeQuietHours = <T>(userId: string, change: (tx: Db) => Promise<T>): Promise<T> =>
  transaction(async (tx) => {
    await lockPreferences(tx, userId);
    const result = await change(tx);
    await bringDeferredForward(tx, userId);
    return result;
  });

users.get("/me", { summary: "Read your profile", auth: "USER", answers: { 200: UserProfile } }, async ({ user }) =>
  ok(present(existing(await findProfile(lookups, user.id)))),
);

users.put(
  "/me",
  {
    summary: "Change your profile",
    description: "Any of the fields, at least one; other fields stay unchanged.",
    auth: "USER",
    body: ProfileChanges,
    answers: { 200: UserProfile },
  },
  async ({ user, body }) => {
    if (body.timezone === undefined) await updateProfile(sql, user.id, body);
    else await changeQuietHours(user.id, (tx) => updateProfile(tx, user.id, body));
    return ok(present(existing(await findProfile(lookups, user.id))));
  },
);

users.get(
  "/me/service-id",
  { summary: "Read your public identifier", auth: "USER", answers: { 200: z.object({ serviceId: z.string() }) } },
  async ({ user }) => ok({ serviceId: existing(await findProfile(lookups, user.id)).serviceId }),
);

users.delete(
  "/me",
  {
    summary: "Delete your account",
    description:
      "At once all sessions end, access tokens stop working, devices and favourites are deleted, and the phone may register " +
      "again. Remaining personal data is erased after 30 days; orders and reviews stay, without a name. A partner without " +
      "owner and staff is suspended.",
    auth: "USER",
    answers: { 204: null },
  },
  async ({ user }) => {
    if (!(await deleteAccount(sql, user.id))) throw gone();
    return noContent();
  },
);

users.post(
  "/me/avatar",
  {
    summary: "Set your avatar",
    auth: "USER",
    body: z
      .object({ avatarUrl: HttpsAddress, fileId: ImageFileId })
      .partial()
      .refine(({ avatarUrl, fileId }) => (avatarUrl === undefined) !== (fileId === undefined), {
        path: ["avatarUrl"],
        message: "give one of avatarUrl and fileId",
      })
      .meta({ example: { avatarUrl: "https://cdn.example.com/anna.webp" } }),
    answers: { 200: z.object({ id: Id, avatarUrl: z.string() }) },
    errors: ["409 CONFLICT"],
  },
  async ({ user, body: { avatarUrl = "", fileId } }) => {
    const avatar = await transaction(async (tx) => {
      const name =
        fileId === undefined
          ? null
          : await claimOwnImage(tx, fileId, user.id, { path: "fileId", code: "VALIDATION_ERROR" });
      const before = await updateAvatar(
        tx,
        user.id,
        name ? { avatarUrl: null, avatar: name } : { avatarUrl, avatar: null },
      );
      if (before === undefined) throw gone();
      if (before !== name) await releaseImage(tx, before);
      return name;
    });
    return ok({ id: user.id, avatarUrl: avatar ? imageAddress(avatar) : avatarUrl });
  },
);

users.delete(
  "/me/avatar",
  { summary: "Remove your avatar", auth: "USER", answers: { 204: null } },
  async ({ user }) => {
    await transaction(async (tx) => {
      const before = await updateAvatar(tx, user.id, { avatarUrl: null, avatar: null });
      if (before === undefined) throw gone();
      await releaseImage(tx, before);
    });
    return noContent();
  },
);

const TimeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/, "must be HH:MM:SS")
  .meta({ example: "22:00:00" });

const preferenceFields = {
  push: z.boolean(),
  sms: z.boolean().meta({ description: "not used so far; login codes are sent in any case" }),
  email: z.boolean().meta({ description: "not used so far" }),
  marketing: z.boolean().meta({ description: "whether to get pushes about favourites; needs `push` too" }),
  quietHoursStart: TimeOfDay,
  quietHoursEnd: TimeOfDay,
};

const Preferences = z.object(preferenceFields).meta({ id: "NotificationPreferences" });

users.get(
  "/me/notification-preferences",
  { summary: "Read your notification preferences", auth: "USER", answers: { 200: Preferences } },
  async ({ user }) => ok(await findPreferences(lookups, user.id)),
);

users.put(
  "/me/notification-preferences",
  {
    summary: "Change your notification preferences",
    description:
      "Any of the fields, at least one; other fields stay unchanged. Quiet hours are in the user's time zone; equal start " +
      "and end mean none. Notifications that wait for their end are decided again at once.",
    auth: "USER",
    body: changesOf(preferenceFields),
    answers: { 200: Preferences },
  },
  async ({ user, body }) => ok(await changeQuietHours(user.id, (tx) => updatePreferences(tx, user.id, body))),
);
