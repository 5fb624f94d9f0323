import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../sql/migrate.js";
import type { Measure } from "./chapter.js";
import { median } from "./compare.js";
import { CLIENTS, placements, profileReads } from "./http.js";
import { Load } from "./messages.js";
import { keepsPrepared, launchPgbouncer, pgbouncerVersion } from "./pgbouncer.js";
import { measured, type Measured } from "./program.js";
import { print, printPart, printRow } from "./report.js";

/** These figures have no goal. */
const MOST_ROUNDS = 3;

/** One way to Postgres, and the processes that share the work. */
interface Way {
  name: string;
  url: string;
  processes: readonly (readonly [name: string, process: Measured])[];
}

/** What a request costs in each process, straight to Postgres and through the PgBouncer on the PATH. */
export const goThroughPooler: Measure = async (lab, marketplace, effort) => {
  if (pgbouncerVersion === null) {
    print("  skipped: there is no pgbouncer");
    return;
  }
  // this module reads the configuration on import, so the lab must have set it
  const { sessionSettings } = await import("../../sql/driver/session-settings.js");
  await migrate(lab.databaseUrl, undefined, sessionSettings);
  const folder = await mkdtemp(join(tmpdir(), "surplus-food-pgbouncer-"));
  const pooler = await launchPgbouncer(lab.databaseUrl, folder);
  try {
    const way = async (name: string, env: NodeJS.ProcessEnv, ...more: Way["processes"]): Promise<Way> => {
      const api = await lab.start("api/server", env);
      return { name, url: api.url, processes: [["API", api], ["Postgres", lab.postgres], ...more] };
    };
    const through = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: lab.databaseUrl };
    const poolerProcess = ["pooler", measured(pooler.pid)] as const;
    const unprepared = { DATABASE_PREPARE: "0" };
    const load = await lab.start("scripts/bench/programs/load");
    const ways = [
      await way("direct", {}),
      await way("direct, DATABASE_PREPARE=0", unprepared),
      ...(keepsPrepared ? [await way(`PgBouncer ${pgbouncerVersion}`, through, poolerProcess)] : []),
      await way(`PgBouncer ${pgbouncerVersion}, DATABASE_PREPARE=0`, { ...through, ...unprepared }, poolerProcess),
    ];
    for (const [part, requests] of [
      ["Read one's own profile", await profileReads(marketplace)],
      ["Place an order", await placements(marketplace)],
    ] as const) {
      printPart(part);
      const costs = new Map(ways.map((each) => [each, new Array<number[]>()]));
      const measure = async ({ url, processes }: Way, seconds: number): Promise<number[]> => {
        const cpu = () => processes.map(([, process]) => process.cpuSeconds() ?? Number.NaN);
        const before = cpu();
        const { perSecond, failed } = await load.ask({ url, connections: CLIENTS, seconds, ...requests }, Load);
        if (failed > 0) throw new Error(`${failed} requests were refused`);
        return cpu().map((after, index) => ((after - (before[index] ?? Number.NaN)) * 1e6) / perSecond / seconds);
      };
      for (const each of ways) await measure(each, effort.warmUpSeconds);
      for (let round = 0; round < Math.min(effort.rounds, MOST_ROUNDS); round += 1)
        for (const each of round % 2 === 0 ? ways : ways.toReversed())
          costs.get(each)?.push(await measure(each, effort.seconds));
      for (const [{ name, processes }, rounds] of costs)
        printRow(
          name,
          processes.map(([process], index) => ({
            name: process,
            value: median(rounds.map((cost) => cost[index] ?? Number.NaN)),
            unit: "µs",
          })),
        );
    }
  } finally {
    await pooler.kill();
    await rm(folder, { recursive: true, force: true });
  }
};
