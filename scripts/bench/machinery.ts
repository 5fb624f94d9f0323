import { type Measure } from "./chapter.js";
import { compare, print, type Contender } from "./compare.js";
import { boxReads, CLIENTS, profileReads, underLoad } from "./http.js";
import { DeliveryRate as RateAndCpu, type StatementsPlan } from "./messages.js";

/**
 * What is gained by machinery that a simple service would do without. Each pair is measured side by side; README.md of the
 * rooms quote these figures.
 */
export const measureMachinery: Measure = async (lab, marketplace, effort) => {
  const load = await lab.start("scripts/bench/programs/load");
  const service = await lab.start("api/server");
  const variant = (name: string) => lab.start("scripts/bench/programs/variant", { VARIANT: name });

  print("  Prototypes of requests that Express need not exchange (api/http/messages.ts)");
  const boxes = boxReads(marketplace);
  const exchanged = underLoad("the service, prototypes exchanged", await variant("prototypes"), load, boxes);
  await compare(underLoad("the service", service, load, boxes), [{ against: exchanged, atLeast: 1.1 }], effort);

  print("  Requests counted in memory (api/http/shared-counters.ts)");
  const profiles = await profileReads(marketplace);
  const counted = underLoad("the service, each counted in Postgres", await variant("counters"), load, profiles);
  await compare(underLoad("the service", service, load, profiles), [{ against: counted, atLeast: 1.1 }], effort);

  const program = await lab.start("scripts/bench/programs/statements");
  const boxIds = marketplace.boxes.map(({ id }) => id);
  const reads = (
    name: string,
    through: StatementsPlan["through"],
    hotThrough: StatementsPlan["hotThrough"] = null,
  ): Contender => ({
    name,
    measure: (seconds) =>
      program.ask({ clients: CLIENTS, seconds, boxIds, through, hotThrough } satisfies StatementsPlan, RateAndCpu),
  });

  print("  Look-ups on few connections (lookups in sql/db.ts)");
  const goals = [
    { against: reads("reads through sql", "sql"), atLeast: 1.1 },
    { against: reads("reads through a pool of postgres.js", "postgres.js"), atLeast: 1.1 },
  ];
  await compare(reads("reads through lookups", "lookups"), goals, effort);

  print("  Statements that wait for one row, apart from the others (contended in sql/db.ts)");
  const together = reads("reads beside them in sql", "sql", "sql");
  await compare(
    reads("reads beside them in contended", "sql", "contended"),
    [{ against: together, atLeast: 2 }],
    effort,
  );
};
