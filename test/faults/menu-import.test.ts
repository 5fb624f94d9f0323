import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { closeDatabase, sql } from "../../sql/db.js";
import * as cast from "../support/cast.js";
import { prepareService, type Service } from "../support/programs.js";
import { until } from "../support/until.js";

let service: Service;

beforeAll(async () => {
  service = await prepareService({ SYNC_WAIT_MS: "0", MENU_ITEMS: "60000" });
  await service.start();
});

afterAll(async () => {
  await service.stop();
  await closeDatabase();
});

test("an import whose worker is killed repeatedly is finished by others, with correct counts and no duplicate items", async () => {
  const { id, owner } = await cast.bakery(service.client);
  const rows = Array.from(
    { length: 60_000 },
    (_, n) => `${n % 2 ? `k-${n}` : ""},Item ${n},Bread,${n % 10 ? 1 : "x"}\n`,
  );
  const sent = await owner.client.post("/api/v1/menu/import/csv", `externalId,name,category,price\n${rows.join("")}`, {
    headers: { "content-type": "text/csv" },
  });
  const look = async () => (await owner.client.get(`/api/v1/menu/import/csv/${sent.string("importId")}`)).body;
  for (let least = 0; least < 2; least += 1) {
    const before = Number((await look())["created"]);
    await until(async () => Number((await look())["created"]) > before);
    await Promise.all(service.workers.map((worker) => worker.kill()));
    const { status } = await look();
    await service.start();
    if (status === "DONE") break;
  }
  const done = await until(async () => {
    const body = await look();
    return body["status"] === "DONE" && body;
  });
  expect(done).toMatchObject({ created: 54_000, updated: 0, failed: 6_000 });
  expect(await sql`select from menu_items where partner_id = ${id}::uuid`).toHaveLength(54_000);
  expect(service.crashes).toEqual([]);
});
