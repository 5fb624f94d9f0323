import { expect, test } from "@jest/globals";
import { outcome } from "../../../support/api.js";
import { newPhone } from "../../../support/cast.js";
import { admin, drain, receive, rolls } from "../../../support/pos-inbox.js";

const list = "/api/v1/admin/pos/events";

test("events are listed page by page, by status, without customers' data", async () => {
  const phone = newPhone();
  await receive([["m0", { kind: "menu.updated" }]]);
  await drain();
  await receive([
    ["order-1", rolls({ customerPhone: phone, address: "Тайная улица, 1" })],
    ["m1", { kind: "menu.updated" }],
    ["m2", { kind: "menu.updated" }],
  ]);
  const first = await admin.client.get(`${list}?limit=2&status=QUEUED`);
  expect(first.list.map(({ eventId }) => eventId)).toEqual(["m2", "m1"]);
  const [, next = ""] = /<([^>]+)>/.exec(first.headers.get("link") ?? "") ?? [];
  const second = await admin.client.get(next);
  expect(second.list).toMatchObject([{ eventId: "order-1", status: "QUEUED", settledAt: null }]);
  expect(first.text + second.text).not.toMatch(new RegExp(`${phone.slice(1)}|Тайная`));
  expect(outcome(await admin.client.get(`${list}?status=LOST`))).toBe("400 VALIDATION_ERROR");
});
