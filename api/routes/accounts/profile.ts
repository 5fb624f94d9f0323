import { z } from "zod";
import { config } from "../../../lib/process/config.js";
import { imageAddress } from "../../../lib/storage/file-store.js";
import { lookups, sql, transaction, type Db } from "../../../sql/db.js";
import { releaseImage } from "../../../sql/queries/files.js";
import { bringDeferredForward } from "../../../sql/queries/notifications.js";
import { findPreferences, lockPreferences, updatePreferences } from "../../../sql/queries/preferences.js";
import {
  deleteAccount,
  findProfile,
  updateAvatar,
  updateProfile,
  type Avatar,
  type Profile,
} from "../../../sql/queries/users.js";
import { sessionEnded } from "../../http/refusals.js";
import { noContent, ok, section } from "../../http/endpoint.js";
import { claimOwnImage, ImageFileId, imageNotReady } from "../../common/own-image.js";
import { changesOf, HttpsAddress, Id, Locale, Phone, text, Zone } from "../../http/schemas.js";

export const users = section({ prefix: "/users", tag: "Users" });

const UserProfile = z
  .object({
    id: Id,
    serviceId: z.string(),
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
  firstName: text(100).nullable(),
  lastName: text(100).nullable(),
  email: z.email().max(254).nullable(),
  locale: Locale,
  timezone: Zone,
});

/** Finds a user's profile; throws 401 when the account was deleted, or the session, if one is given, has ended. */
async function profileOf(userId: string, sessionId: string | null = null): Promise<Profile> {
  const profile = await findProfile(lookups, userId, sessionId);
  if (profile === undefined) throw sessionEnded();
  return profile;
}

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

users.get(
  "/me",
  {
    name: "readProfile",
    summary: "Read your profile",
    auth: "USER",
    checksSession: true,
    answers: { 200: UserProfile },
  },
  async ({ user, sessionId }) => ok(present(await profileOf(user.id, sessionId))),
);

users.put(
  "/me",
  {
    name: "changeProfile",
    summary: "Change your profile",
    auth: "USER",
    body: ProfileChanges,
    answers: { 200: UserProfile },
  },
  async ({ user, body }) => {
    if (body.timezone === undefined) await updateProfile(sql, user.id, body);
    else await changeQuietHours(user.id, (tx) => updateProfile(tx, user.id, body));
    return ok(present(await profileOf(user.id)));
  },
);

users.get(
  "/me/service-id",
  {
    name: "readServiceId",
    summary: "Read your public identifier",
    auth: "USER",
    answers: { 200: z.object({ serviceId: z.string() }) },
  },
  async ({ user }) => ok({ serviceId: (await profileOf(user.id)).serviceId }),
);

users.delete(
  "/me",
  {
    name: "deleteAccount",
    summary: "Delete your account",
    description:
      "At once all sessions end, access tokens stop working, devices and favourites are deleted, and the phone may register " +
      "again. Remaining personal data is erased after 30 days; orders and reviews stay, without a name. A partner without " +
      "owner and staff is suspended.",
    auth: "USER",
    answers: { 204: null },
  },
  async ({ user }) => {
    if (!(await deleteAccount(sql, user.id))) throw sessionEnded();
    return noContent();
  },
);

/** Sets or removes a user's avatar; throws 401 when the account was deleted. */
async function replaceAvatar(tx: Db, userId: string, next: Avatar) {
  const before = await updateAvatar(tx, userId, next);
  if (before === undefined) throw sessionEnded();
  if (before !== next.avatar) await releaseImage(tx, before);
}

users.post(
  "/me/avatar",
  {
    name: "setAvatar",
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
    errors: [imageNotReady],
  },
  async ({ user, body: { avatarUrl = "", fileId } }) => {
    if (fileId === undefined) {
      await transaction((tx) => replaceAvatar(tx, user.id, { avatarUrl, avatar: null }));
      return ok({ id: user.id, avatarUrl });
    }
    const avatar = await transaction(async (tx) => {
      const image = await claimOwnImage(tx, fileId, user.id, { path: "fileId", code: "VALIDATION_ERROR" });
      await replaceAvatar(tx, user.id, { avatarUrl: null, avatar: image });
      return image;
    });
    return ok({ id: user.id, avatarUrl: imageAddress(avatar) });
  },
);

users.delete(
  "/me/avatar",
  { name: "removeAvatar", summary: "Remove your avatar", auth: "USER", answers: { 204: null } },
  async ({ user }) => {
    await transaction((tx) => replaceAvatar(tx, user.id, { avatarUrl: null, avatar: null }));
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
  {
    name: "readNotificationPreferences",
    summary: "Read your notification preferences",
    auth: "USER",
    answers: { 200: Preferences },
  },
  async ({ user }) => ok(await findPreferences(lookups, user.id)),
);

users.put(
  "/me/notification-preferences",
  {
    name: "changeNotificationPreferences",
    summary: "Change your notification preferences",
    description:
      "Quiet hours are in the user's time zone; equal start and end mean none. Notifications that wait for their end are " +
      "decided again at once.",
    auth: "USER",
    body: changesOf(preferenceFields),
    answers: { 200: Preferences },
  },
  async ({ user, body }) => ok(await changeQuietHours(user.id, (tx) => updatePreferences(tx, user.id, body))),
);
