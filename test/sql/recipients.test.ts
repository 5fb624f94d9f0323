import { expect, test } from "@jest/globals";
import { notificationKinds } from "../../lib/domain/notification-kinds.js";
import { recipientsOf } from "../../sql/queries/recipients.js";

test("every kind of notification belongs to an event", () => {
  const used = Object.values(recipientsOf).flatMap((audience) =>
    "notifyNext" in audience ? [audience.kind] : audience.notify.map(({ kind }) => kind),
  );
  expect(new Set<string>(used)).toEqual(new Set(Object.keys(notificationKinds)));
});
