import { z } from "zod";
import { enums } from "../../../lib/domain/enums.js";
import { config } from "../../../lib/process/config.js";
import { sha256 } from "../../../lib/security/crypto.js";
import { parsePushToken } from "../../../lib/messaging/push-token.js";
import { sql } from "../../../sql/db.js";
import { deleteDevice, insertDevice, listDevices } from "../../../sql/queries/devices.js";
import { created, noContent, ok, section } from "../../http/endpoint.js";
import { refusalWith } from "../../http/refusal.js";
import { notFound, sessionEnded } from "../../http/refusals.js";
import { Id, Locale, orNull, shownAs, Timestamp } from "../../http/schemas.js";

/** Users with more have usually lost the oldest. */
const mostDevices = 20;

const Platform = z.enum(enums.devicePlatform);

const RegisteredDevice = z.object({ id: Id, platform: Platform, locale: Locale }).meta({ id: "RegisteredDevice" });

const invalidPushToken = refusalWith(400, "INVALID_PUSH_TOKEN", "INVALID_PUSH_TOKEN", {
  detail: ({ platform }) => `This is not a push token for ${platform}.`,
  remedy: "Send the token as the push service gave it: of FCM for ios and android, a subscription as JSON for web.",
  facts: { platform: Platform },
  example: { platform: "android" },
});

export const devices = section({ prefix: "/notifications/devices", tag: "Notifications" });

devices.post(
  "/",
  {
    name: "registerDevice",
    summary: "Register a device for pushes",
    description:
      "A token belongs to the user who registered it last. A user has at most " +
      `${mostDevices} devices: the ones registered last.`,
    auth: "USER",
    body: z.object({
      pushToken: z.string().meta({
        description:
          "an FCM registration token (10 to 4096 letters, digits, `:` `_` `-` `.`), or for `web` a PushSubscription as JSON",
        example: "fGx1c2VyOmRldmljZQ:APA91bE-example_token",
      }),
      platform: z
        .string()
        .regex(/^(ios|android|web)$/i, "must be ios, android or web")
        .transform((name) => Platform.parse(name.toLowerCase()))
        .meta({
          override: shownAs({ type: "string", enum: Platform.options, description: "in any case" }),
          example: "android",
        }),
      locale: orNull(Locale).meta({ description: "the user's by default" }),
    }),
    answers: { 200: RegisteredDevice, 201: RegisteredDevice },
    errors: [invalidPushToken],
  },
  async ({ user, body: { pushToken, platform, locale } }) => {
    const parsed = parsePushToken(platform, pushToken, { allowHttp: config.ALLOW_PRIVATE_ADDRESSES });
    if (!parsed) throw invalidPushToken({ platform });
    const { address, keys } = parsed;
    const device = await insertDevice(
      sql,
      {
        userId: user.id,
        platform,
        address,
        addressDigest: sha256(address),
        p256dh: keys?.p256dh ?? null,
        auth: keys?.auth ?? null,
        locale,
      },
      mostDevices,
    );
    if (!device) throw sessionEnded();
    const { added, ...registered } = device;
    return added ? created(registered) : ok(registered);
  },
);

devices.get(
  "/",
  {
    name: "listDevices",
    summary: "List your devices, newest first",
    auth: "USER",
    answers: { 200: z.array(RegisteredDevice.extend({ createdAt: Timestamp }).meta({ id: "Device" })) },
  },
  async ({ user }) => ok([...(await listDevices(sql, user.id))]),
);

devices.delete(
  "/:id",
  { name: "deleteDevice", summary: "Delete one of your devices", auth: "USER", answers: { 204: null } },
  async ({ user, params }) => {
    if (!(await deleteDevice(sql, user.id, params.id))) throw notFound("This device");
    return noContent();
  },
);
