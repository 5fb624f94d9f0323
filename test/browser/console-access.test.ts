import { beforeAll, beforeEach, expect, test } from "@jest/globals";
import { sql } from "../../sql/db.js";
import * as cast from "../support/cast.js";
import {
  client,
  confirm,
  context,
  describeConsole,
  page,
  placeOrder,
  signIn,
  signInAdmin,
} from "../support/console-scene.js";

describeConsole("the operators' console in a browser", () => {
  let order: Awaited<ReturnType<typeof placeOrder>>;

  beforeAll(async () => {
    order = await placeOrder();
    await sql`insert into staged_jobs (queue, payload, dead_at, last_error) values ('push', '{}', now(), 'HTTP 418')`;
    await sql`
      insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at, last_error)
      values (${order.shop.id}::uuid, 'generic', 'till', 'one', '{"kind": "order.status"}', 'PARKED', now(), 'unknown item')`;
  });

  beforeEach(() => context.clearCookies());

  test("leads strangers to the sign-in, and after it to the page that they wanted", async () => {
    await signInAdmin("/admin/ops/jobs?state=WAITING");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect(page.url()).toContain("/admin/ops/jobs?state=WAITING");
  });

  test("explains a wrong address and invalid input on a page", async () => {
    await signInAdmin("/admin/ops");
    await page.goto("/admin/ops/orders/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f");
    await page.getByRole("alert").getByText("This order was not found.").waitFor();
    await page.goto("/admin/ops/orders/none");
    await page.getByRole("alert").waitFor();
    await page.getByRole("link", { name: "Back to the console" }).click();
    await page.getByRole("heading", { name: "Now" }).waitFor();
  });

  test("shows an admin a customer's phone, for a reason", async () => {
    await signInAdmin(`/admin/ops/orders/${order.orderId}`);
    await confirm("the customer called");
    expect(await page.getByText(order.customer.phone).count()).toBe(0);
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText(order.customer.phone).waitFor();
  });

  test("lets an observer look, without what they may not do", async () => {
    const observer = await cast.user(client);
    await sql`update users set is_observer = true where id = ${observer.id}::uuid`;
    await signIn("/admin/ops/queues/push", observer);
    await page.getByRole("heading", { name: "Queue push" }).waitFor();
    expect(await page.getByRole("button").allTextContents()).toEqual(["Find"]);
    await page.goto("/admin/ops/pos-events");
    await page.getByRole("cell", { name: "unknown item" }).waitFor();
    await page.goto("/admin/ops/jobs");
    await page.getByRole("cell", { name: "HTTP 418" }).waitFor();
    expect(await page.getByRole("checkbox").count()).toBe(0);
    const refused = await page.request.post("/admin/ops/queues/push", {
      form: { kind: "PAUSE", why: "x", sure: "on" },
      headers: { "sec-fetch-site": "same-origin" },
    });
    expect(refused.status()).toBe(403);
    expect((await page.request.get("/admin/queues/api/queues")).status()).toBe(403);
  });
});
