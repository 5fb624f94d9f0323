import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { startWebhookReceiver } from "../support/webhook-receiver.js";
import { task } from "../support/task.js";

// the receiver of this test is on this machine
process.env["ALLOW_PRIVATE_ADDRESSES"] = "1";
const { closeDatabase, sql } = await import("../../sql/db.js");
const { numberEvents } = await import("../../sql/queries/events.js");
const { closeSignals } = await import("../../sql/signals.js");
const { sendWebhooks } = await import("../../workers/webhooks.js");
const { startApi } = await import("../support/api.js");
const cast = await import("../support/cast.js");
const { newKinds, newNotifications, runEvents } = await import("../support/events.js");

const path = "/api/v1/webhook-endpoints";
const api = await startApi();
const shop = await cast.bakery(api.client);
const clerk = await cast.user(api.client);
await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${shop.id}::uuid)`;
const [olga, pavel] = [await cast.admin(api.client), await cast.admin(api.client)];
const receiver = await startWebhookReceiver("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");

afterAll(async () => {
  await receiver.stop();
  await api.stop();
  await closeSignals();
  await closeDatabase();
});

let id: string;

async function newEndpoint({ client }: Pick<typeof olga, "client">): Promise<void> {
  const made = await client.post(path, { url: receiver.url });
  id = made.string("id");
  receiver.trust(made.string("secret"));
}

beforeEach(async () => {
  await sql`delete from webhook_endpoints`;
  await numberEvents(sql, 1_000);
  receiver.answerWith();
  await newEndpoint(shop.owner);
});

const answer = (status: number) => receiver.answerWith((response) => void response.writeHead(status).end());

/** Sends an event, after any pauses, and processes the notifications that follow. */
async function send(): Promise<void> {
  await cast.listBox(shop);
  await numberEvents(sql, 1_000);
  await sql`update webhook_endpoints set paused_until = null`;
  await sendWebhooks(task({ endpointId: id }));
  await runEvents(id);
}

const failForADay = () => sql`update webhook_endpoints set failing_since = now() - interval '25 hours'`;
const kindsOf = async () => [await newKinds(shop.owner), await newKinds(clerk)];

describe("a partner's people", () => {
  test("are told once that its endpoint was stopped after a day of failures, and once that it works again", async () => {
    answer(500);
    await send();
    expect(await kindsOf()).toEqual([[], []]);
    await failForADay();
    await send();
    expect(await newNotifications(shop.owner)).toMatchObject([
      { kind: "WEBHOOK_STOPPED", partnerId: shop.id, body: expect.stringContaining(`«${new URL(receiver.url).host}»`) },
    ]);
    expect(await newKinds(clerk)).toEqual(["WEBHOOK_STOPPED"]);

    await shop.owner.client.patch(`${path}/${id}`, { enabled: true });
    await send();
    expect(await kindsOf()).toEqual([[], []]);
    answer(204);
    await send();
    await send();
    expect(await kindsOf()).toEqual([["WEBHOOK_BACK"], ["WEBHOOK_BACK"]]);
  });

  test("are told at once of an endpoint that answers 410", async () => {
    answer(410);
    await send();
    expect(await kindsOf()).toEqual([["WEBHOOK_STOPPED"], ["WEBHOOK_STOPPED"]]);
  });

  test("are not told of what they did themselves, nor of failures that are over within a day", async () => {
    answer(500);
    await send();
    answer(204);
    await send();
    await shop.owner.client.patch(`${path}/${id}`, { enabled: false });
    await shop.owner.client.patch(`${path}/${id}`, { enabled: true });
    await send();
    expect(await kindsOf()).toEqual([[], []]);
  });
});

test("of an endpoint of the platform those are told who have changed it, while they are admins", async () => {
  await newEndpoint(olga);
  await pavel.client.patch(`${path}/${id}`, { description: "Бухгалтерия" });
  answer(410);
  await send();
  expect(await newKinds(olga)).toEqual(["PLATFORM_WEBHOOK_STOPPED"]);
  expect(await newKinds(pavel)).toEqual(["PLATFORM_WEBHOOK_STOPPED"]);
  expect(await newKinds(shop.owner)).toEqual([]);

  await sql`update users set is_admin = false where id = ${pavel.id}::uuid`;
  await olga.client.patch(`${path}/${id}`, { enabled: true });
  answer(204);
  await send();
  expect(await newKinds(olga)).toEqual(["PLATFORM_WEBHOOK_BACK"]);
  expect(await newKinds(pavel)).toEqual([]);
  await sql`update users set is_admin = true where id = ${pavel.id}::uuid`;
});
