import { afterAll, expect, test } from "@jest/globals";
import { overview } from "../../../../api/common/overview.js";
import { nowPage } from "../../../../api/ops/console/now.js";
import { closeDatabase, sql } from "../../../../sql/db.js";

afterAll(closeDatabase);

const shown = async (running: [] | null) => nowPage(await overview(), [], running, false)(true).replaceAll(/\s+/g, " ");

/** What is wrong, as the page says it first. */
const wrong = (page: string) =>
  [...(/<div class="state.*?<\/div>/.exec(page)?.[0] ?? "").matchAll(/<li>(.*?)<\/li>/g)].map(([, line]) =>
    line?.replaceAll(/<[^>]*>/g, "").trim(),
  );

test("what is wrong is said first, and what all else depends on before the rest", async () => {
  await sql`insert into heartbeats (name, beat_at) values ('canary', now())`;
  await sql`
    insert into processes (id, role, version, started_at, facts)
    values ('host/1/a', 'WORKER', '1.0.0', now(), ${sql.json({
      ...{ statements: 0, transactions: 0, waiting: 0, replicas: [] },
      vendors: [{ vendor: "push: fcm", calls: 10, failed: 9 }],
    })})`;
  await sql`insert into staged_jobs (queue, payload, dead_at) values ('sms', '{}', now())`;
  const troubles = ["1 dead job in sms", "push: fcm fails: 9 of 10 calls in five minutes"];
  const well = await shown([]);
  expect(wrong(well).filter((line) => !line?.includes("not rolled up"))).toEqual(troubles);
  const [first] = wrong(await shown(null));
  expect(first).toBe("The broker has not answered within a second. Jobs wait in Postgres while it is away");
});

test("each third party is shown with its last call, also when it is not called now", async () => {
  await sql`
    insert into vendor_calls (vendor, succeeded_at, failed_at)
    values ('SMS', '2026-06-01T11:00Z', '2026-06-01T12:00Z'), ('geocoder', '2026-06-01T13:00Z', null)`;
  const page = await shown([]);
  const row = (vendor: string) =>
    page
      .match(new RegExp(`<tr> <th scope="row">${vendor}</th>.*?</tr>`))?.[0]
      .replaceAll(/<[^>]*>/g, "")
      .trim()
      .split(/ {2,}/);
  expect(row("SMS")?.join(" ")).toMatch(/^SMS failed 2026-06-01 11:00:00 2026-06-01 12:00:00 0 0$/);
  expect(row("geocoder")?.join(" ")).toMatch(/^geocoder succeeded 2026-06-01 13:00:00 none in 30 days 0 0$/);
});
