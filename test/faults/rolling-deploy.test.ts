import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "@jest/globals";
import pg from "pg";
import { closeDatabase } from "../../sql/db.js";
import { migrate } from "../../sql/migrate.js";
import { closeSignals } from "../../sql/signals.js";
import { prepareService } from "../support/programs.js";
import { randomFrom } from "../support/random.js";
import { scratchFolder } from "../support/scratch.js";
import { sized } from "../support/size.js";
import { startStandIns } from "../support/storm/stand-ins.js";
import { startTraffic } from "../support/storm/traffic.js";
import { until } from "../support/until.js";

const sources = fileURLToPath(new URL("../../sql", import.meta.url));
const url = process.env["DATABASE_URL"] ?? "";

/** The tables that every order writes or reads. */
const busy = ["orders", "order_items", "boxes", "menu_items", "users", "notifications", "staged_jobs", "pos_events"];

/** Writes releases that follow one another: each adds to every busy table, and replaces every function by a new body. */
async function nextReleases(folder: string, count: number) {
  const functions = join(folder, "functions");
  await mkdir(functions);
  await cp(join(sources, "migrations"), join(folder, "migrations"), { recursive: true });
  const files = await readdir(join(sources, "functions"));
  const write = async (release: number) => {
    for (const [index, table] of busy.entries()) {
      // one busy table in each transaction, as CONTRIBUTING asks for
      const number = 900 + release * busy.length + index;
      await writeFile(
        join(folder, `migrations/${number}.do.${table}.sql`),
        `alter table ${table} add column note_${release} text, add column size_${release} integer not null default 1;
        alter table ${table} add constraint size_${release}_known check (size_${release} > 0) not valid;
        create index ${table}_by_note_${release} on ${table} (note_${release}) where note_${release} is not null;`,
      );
    }
    for (const file of files) {
      const text = await readFile(join(sources, "functions", file), "utf8");
      await writeFile(join(functions, file), text.replaceAll(/^as \$\$$/gm, `as $$$$\n-- release ${release}`));
    }
    return { migrations: join(folder, "migrations"), functions };
  };
  return { count, write };
}

const folder = await scratchFolder("releases");
const observer = new pg.Pool({ connectionString: url, max: 1 });
const ask = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await observer.query<Row>(text, values)).rows;

afterAll(async () => {
  await rm(folder, { recursive: true });
  await observer.end();
  await closeSignals();
  await closeDatabase();
});

test("while later releases migrate, this one answers every request and does every job", async () => {
  const standIns = await startStandIns();
  // no process hangs here, so a statement that takes long says only that the machine is busy
  const service = await prepareService({ ...standIns.env, DATABASE_TIMEOUT_MS: "120000" });
  try {
    await service.start();
    const traffic = await startTraffic(service.client, standIns, ask, randomFrom(1));
    const releases = await nextReleases(folder, sized(3, 2));
    for (let release = 1; release <= releases.count; release += 1) {
      expect(await migrate(url, await releases.write(release))).toHaveLength(busy.length);
      await traffic.placeOne();
    }
    const { orders, codes } = await traffic.finish();
    await until(
      async () =>
        (await ask("select from staged_jobs where done_at is null and dead_at is null and run_at <= now()")).length ===
        0,
    );
    const failed = "select queue, last_error from staged_jobs where dead_at is not null or last_error is not null";
    expect(await ask(failed)).toEqual([]);
    expect([...orders, ...codes].filter(({ attempts, outcome }) => attempts > 1 || outcome === "unknown")).toEqual([]);
    expect(orders.length).toBeGreaterThan(releases.count);
    expect(service.crashes).toEqual([]);
  } finally {
    await service.stop();
    await standIns.stop();
  }
});
