import { expect, test } from "@jest/globals";
import { isKnownService, originOf } from "../../../lib/messaging/push.js";

test.each([
  ["https://fcm.googleapis.com", true],
  ["https://updates.push.services.mozilla.com", true],
  ["https://web.push.apple.com", true],
  ["https://wns2-par02p.notify.windows.com", true],
  ["https://push.example.com", false],
  ["https://evilpush.apple.com", false],
  ["https://push.apple.com.example.com", false],
  ["https://web.push.apple.com.", false],
  ["https://fcm.googleapis.com:8443", false],
  ["", false],
])("%s is a known push service: %s", (origin, known) => {
  expect(isKnownService(origin)).toBe(known);
});

test.each([
  ["a registration token", { address: "phone:of-anna", keys: null }, "https://fcm.googleapis.com"],
  ["a subscription", { address: "https://Push.example.com:443/send/1", keys: {} }, "https://push.example.com"],
  ["a subscription without a valid address", { address: "nowhere", keys: {} }, ""],
])("the origin of %s", (_case, { address, keys }, origin) => {
  expect(originOf({ address, keys: keys && { p256dh: "", auth: "" } })).toBe(origin);
});
