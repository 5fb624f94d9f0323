import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Reply } from "../../../support/api.js";
import { task } from "../../../support/task.js";
import { startWebhookReceiver } from "../../../support/webhook-receiver.js";

// the receiver of this test is on this machine
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { closeDatabase, sql } = await import("../../../../sql/db.js");
const { numberEvents } = await import("../../../../sql/queries/events.js");
const { closeSignals } = await import("../../../../sql/signals.js");
const { deleteOldWebhooks } = await import("../../../../sql/queries/webhooks.js");
const { sendWebhooks } = await import("../../../../workers/webhooks.js");
const { outcome, startApi } = await import("../../../support/api.js");
const cast = await import("../../../support/cast.js");

const path = "/api/v1/webhook-endpoints";
const api = await startApi();
const shop = await cast.bakery(api.client);
const admin = await cast.admin(api.client);
const owner = shop.owner.client;
const receiver = await startWebhookReceiver("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");

afterAll(async () => {
  await receiver.stop();
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

let id: string;

beforeAll(() => numberEvents(sql, 1_000));

beforeEach(async () => {
  await sql`delete from webhook_endpoints`;
  const made = await owner.post(path, { url: receiver.url, types: ["box.listed", "box.listed"], description: "Касса" });
  expect(made.body).toMatchObject({ url: receiver.url, types: ["box.listed"], description: "Касса", enabled: true });
  id = made.string("id");
  receiver.trust(made.string("secret"));
  receiver.answerWith();
  receiver.received.length = 0;
});

/** Lists a box, and sends its event. */
async function listBox(): Promise<string> {
  const boxId = await cast.listBox(shop);
  await numberEvents(sql, 1_000);
  await sendWebhooks(task({ endpointId: id }));
  return boxId;
}

const deliveries = async (query = "") => (await owner.get(`${path}/${id}/deliveries?${query}`)).list;

describe("an endpoint", () => {
  test("gets events that its secret verifies; the secret is shown once, and stored encrypted", async () => {
    const boxId = await listBox();
    expect(receiver.received.map(({ type, data }) => [type, data["boxId"]])).toEqual([["box.listed", boxId]]);
    const read = await owner.get(`${path}/${id}`);
    expect((await owner.get(path)).list).toEqual([read.body]);
    expect(read.text).not.toContain("whsec_");
    expect(JSON.stringify(await sql`select w::text from webhook_endpoints w`)).not.toContain("whsec_");
  });

  test("has a new secret at once, and the old one for a day", async () => {
    const rotated = await owner.post(`${path}/${id}/rotate-secret`);
    await listBox();
    receiver.trust(rotated.string("secret"));
    await listBox();
    expect(receiver.received).toHaveLength(2);
  });

  test("is changed field by field; null clears what is optional", async () => {
    const changed = await owner.patch(`${path}/${id}`, { types: null });
    expect(changed.body).toMatchObject({ types: null, description: "Касса", url: receiver.url });
    expect((await owner.patch(`${path}/${id}`, { description: null })).body).toMatchObject({ description: null });
  });

  test("with other types gets events of these from now on, and those of before when they are sent again", async () => {
    await owner.patch(`${path}/${id}`, { types: ["box.expired"] });
    const before = await listBox();
    await owner.patch(`${path}/${id}`, { types: null });
    const after = await listBox();
    expect(receiver.received.map(({ data }) => data["boxId"])).toEqual([after]);
    expect(outcome(await owner.post(`${path}/${id}/resend`, { since: "2026-06-01T00:00:00Z" }))).toBe("202");
    await sendWebhooks(task({ endpointId: id }));
    expect(receiver.received.map(({ data }) => data["boxId"])).toContain(before);
  });

  test("that its owner stops gets nothing; started again, only what happens then", async () => {
    expect((await owner.patch(`${path}/${id}`, { enabled: false })).body).toMatchObject({
      enabled: false,
      stoppedWhy: "BY_OWNER",
    });
    await listBox();
    expect((await owner.patch(`${path}/${id}`, { enabled: true })).body).toMatchObject({
      enabled: true,
      stoppedWhy: null,
    });
    const boxId = await listBox();
    expect(receiver.received.map(({ data }) => data["boxId"])).toEqual([boxId]);
  });

  test("is gone once it is deleted, and so are its deliveries after their time", async () => {
    await listBox();
    expect(outcome(await owner.delete(`${path}/${id}`))).toBe("204");
    expect(outcome(await owner.get(`${path}/${id}`))).toBe("404 NOT_FOUND");
    expect(outcome(await owner.get(`${path}/${id}/deliveries`))).toBe("404 NOT_FOUND");
    await sql`
      update webhook_deliveries
      set status = 'PENDING', next_attempt_at = now(), created_at = now() - interval '31 days' where endpoint_id = ${id}::uuid`;
    expect(await deleteOldWebhooks(sql, 100)).toBe(1);
  });

  const switchByOperator = (enabled: boolean) =>
    admin.client.patch(`/api/v1/admin/ops/webhook-endpoints/${id}`, { enabled, why: "floods its receiver" });
  const refusedFor = (reply: Reply) => `${outcome(reply)} ${String(reply.body["reason"])}`;
  const byOperator = "409 CONFLICT WEBHOOK_ENDPOINT_STOPPED_BY_OPERATOR";

  test("that an operator has stopped is neither started nor deleted by its owner, who may describe it", async () => {
    const its = `${path}/${id}`;
    await switchByOperator(false);
    expect(refusedFor(await owner.patch(its, { enabled: true }))).toBe(byOperator);
    expect(refusedFor(await owner.delete(its))).toBe(byOperator);
    expect((await owner.patch(its, { enabled: false, description: "Office" })).body).toMatchObject({
      enabled: false,
      stoppedWhy: "BY_OPERATOR",
      description: "Office",
    });
    await switchByOperator(true);
    expect((await owner.patch(its, { enabled: true })).body).toMatchObject({ enabled: true });
    expect(outcome(await owner.delete(its))).toBe("204");
  });

  test("that an operator has stopped is not replaced by another of the same partner; other owners are not concerned", async () => {
    const other = (await owner.post(path, { url: receiver.url })).string("id");
    await switchByOperator(false);
    expect(refusedFor(await owner.post(path, { url: receiver.url }))).toBe(byOperator);
    expect(refusedFor(await owner.patch(`${path}/${other}`, { url: `${receiver.url}/events` }))).toBe(byOperator);
    const same = { url: receiver.url, types: ["box.expired"] };
    expect((await owner.patch(`${path}/${other}`, same)).body).toMatchObject({ ...same, enabled: true });
    expect((await owner.patch(`${path}/${other}`, { description: "Till" })).body).toMatchObject({
      description: "Till",
    });
    const elsewhere = (await cast.bakery(api.client)).owner.client;
    for (const client of [elsewhere, admin.client])
      expect(outcome(await client.post(path, { url: receiver.url }))).toBe("201");
    await switchByOperator(true);
    expect(outcome(await owner.post(path, { url: receiver.url }))).toBe("201");
  });

  test("that its owner has stopped is stopped by an operator, too: then its owner does not start it", async () => {
    await owner.patch(`${path}/${id}`, { enabled: false });
    await switchByOperator(false);
    expect(refusedFor(await owner.patch(`${path}/${id}`, { enabled: true }))).toBe(byOperator);
  });

  test("stops when the service key that created it is revoked", async () => {
    const made = await admin.client.post("/api/v1/admin/api-keys", { name: "Billing", scopes: ["webhooks:write"] });
    const headers = { authorization: `Bearer ${made.string("key")}` };
    const endpoint = await api.client.post(path, { url: receiver.url }, { headers });
    const others = await admin.client.post(path, { url: receiver.url });
    await admin.client.delete(`/api/v1/admin/api-keys/${made.string("id")}`);
    expect((await admin.client.get(`${path}/${endpoint.string("id")}`)).body).toMatchObject({
      enabled: false,
      stoppedWhy: "BY_OPERATOR",
    });
    expect((await admin.client.get(`${path}/${others.string("id")}`)).body).toMatchObject({ enabled: true });
    const [audited] = await sql<{ details: unknown }[]>`
      select details from audit_events where subject_id = ${endpoint.string("id")}::uuid`;
    expect(audited).toEqual({ details: { apiKeyId: made.string("id") } });
    expect(outcome(await admin.client.delete(`${path}/${endpoint.string("id")}`))).toBe("204");
  });

  test("is its owner's: staff, who may leave, neither see nor change it", async () => {
    const clerk = await cast.user(api.client);
    await cast.join(shop, clerk);
    const { client } = clerk;
    const replies = [
      await client.post(path, { url: receiver.url }),
      await client.get(path),
      await client.get(`${path}/${id}`),
      await client.patch(`${path}/${id}`, { url: "https://example.com" }),
      await client.post(`${path}/${id}/rotate-secret`),
      await client.get(`${path}/${id}/deliveries`),
      await client.post(`${path}/${id}/deliveries/1/resend`),
      await client.post(`${path}/${id}/resend`, { since: "2026-06-01T00:00:00Z" }),
      await client.post(`${path}/${id}/test`),
      await client.delete(`${path}/${id}`),
    ];
    expect(replies.map(({ status, body }) => `${status} ${String(body["reason"])}`)).toEqual(
      replies.map(() => "403 NOT_THE_OWNER"),
    );
  });

  test("stops when its owner changes; the next one may start it", async () => {
    const heir = await cast.user(api.client);
    const bakery = await cast.bakery(api.client);
    const made = await bakery.owner.client.post(path, { url: receiver.url });
    const its = `${path}/${made.string("id")}`;
    await sql`update partners set owner_id = ${heir.id}::uuid where id = ${bakery.id}::uuid`;
    expect((await heir.client.get(its)).body).toMatchObject({ enabled: false, stoppedWhy: "BY_OWNER" });
    expect(outcome(await bakery.owner.client.get(its))).toBe("403 FORBIDDEN");
    await heir.client.patch(its, { enabled: true });
    // the first owner of a partner has changed nothing
    await sql`update partners set name = 'Bakery', owner_id = owner_id where id = ${bakery.id}::uuid`;
    expect((await heir.client.get(its)).body).toMatchObject({ enabled: true });
    await heir.client.delete("/api/v1/users/me");
    expect(
      await sql`select from webhook_endpoints where id = ${made.string("id")}::uuid and stopped_at is null`,
    ).toEqual([]);
  });

  test("of the platform gets the events of all partners", async () => {
    const made = await admin.client.post(path, { url: receiver.url });
    receiver.trust(made.string("secret"));
    await cast.listBox(shop);
    await numberEvents(sql, 1_000);
    await sendWebhooks(task({ endpointId: made.string("id") }));
    expect(receiver.received.map(({ partnerId }) => partnerId)).toContain(shop.id);
    expect((await admin.client.get(path)).list.map((endpoint) => endpoint["id"])).toEqual([made.body["id"]]);
  });

  test.each([
    ["ftp://example.com", undefined],
    ["https://user:word@example.com", undefined],
    ["example.com", undefined],
    ["https://example.com", ["box.eaten"]],
    ["https://example.com", []],
  ])("with %s and %j is refused", async (url, types) => {
    expect(outcome(await owner.post(path, { url, types }))).toBe("400 VALIDATION_ERROR");
  });

  test("is one of ten of a partner", async () => {
    const more = await Promise.all(
      Array.from({ length: 11 }, () => owner.post(path, { url: "https://example.com/events" })),
    );
    expect(more.map(outcome).toSorted()).toEqual([...Array<string>(9).fill("201"), "409 CONFLICT", "409 CONFLICT"]);
  });
});

describe("a delivery", () => {
  test("shows how it went, and is sent again when its owner wants it", async () => {
    receiver.answerWith((response) => void response.writeHead(400).end("не сегодня"));
    await listBox();
    const [failed] = await deliveries("status=PENDING");
    expect(failed).toMatchObject({ type: "box.listed", attempts: 1, answered: 400, answer: "не сегодня" });
    receiver.answerWith();
    await sql`update webhook_endpoints set paused_until = null`;
    const again = await owner.post(`${path}/${id}/deliveries/${String(failed?.["position"])}/resend`);
    expect(outcome(again)).toBe("202");
    await sendWebhooks(task({ endpointId: id }));
    expect(await deliveries()).toMatchObject([{ status: "SENT", attempts: 1, answered: 204, nextAttemptAt: null }]);
    expect(receiver.received.map((webhook) => webhook.id)).toEqual([failed?.["eventId"], failed?.["eventId"]]);
  });

  test("is not sent again to an endpoint that is stopped", async () => {
    await listBox();
    const [sent] = await deliveries();
    await owner.patch(`${path}/${id}`, { enabled: false });
    const again = await owner.post(`${path}/${id}/deliveries/${String(sent?.["position"])}/resend`);
    expect([outcome(again), again.body["reason"]]).toEqual(["409 CONFLICT", "WEBHOOK_ENDPOINT_STOPPED"]);
  });

  test("is listed page by page, the latest first", async () => {
    for (let n = 0; n < 3; n += 1) await listBox();
    const first = await owner.get(`${path}/${id}/deliveries?limit=2`);
    const [, next = ""] = /<(.*)>/.exec(first.headers.get("link") ?? "") ?? [];
    const positions = [...first.list, ...(await owner.get(next)).list].map((delivery) => Number(delivery["position"]));
    expect(positions).toHaveLength(3);
    expect(positions).toEqual(positions.toSorted((one, other) => other - one));
  });
});
