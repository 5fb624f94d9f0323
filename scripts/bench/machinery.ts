import { type Measure } from "./chapter.js";
import { compare, type Contender } from "./compare.js";
import { boxReads, CLIENTS, profileReads, underLoad } from "./http.js";
import { DeliveryRate as RateAndCpu, type StatementsPlan } from "./messages.js";
import { printPart } from "./report.js";

/** The gains are large, so few rounds show them. */
const MOST_ROUNDS = 3;

/**
 * The gains of optimisations that a simple service would leave out. Each pair is measured side by side; the folders' READMEs
 * quote these figures.
 */
export const measureMachinery: Measure = async (lab, marketplace, { rounds, ...others }) => {
  const effort = { ...others, rounds: Math.min(rounds, MOST_ROUNDS) };
  const load = await lab.start("scripts/bench/programs/load");
  const service = await lab.start("api/server");
  const variant = (name: string) => lab.start("scripts/bench/programs/variant", { VARIANT: name });

  printPart("Requests whose prototype Express need not replace (api/http/message-classes.ts)");
  const boxes = boxReads(marketplace);
  const replaced = underLoad("the service, prototypes replaced", await variant("prototypes"), load, boxes);
  await compare(underLoad("the service", service, load, boxes), [{ against: replaced, atLeast: 1.1 }], effort);

  printPart("Requests counted in memory (api/http/shared-counters.ts)");
  const profiles = await profileReads(marketplace);
  const counted = underLoad("the service, each counted in Postgres", await variant("counters"), load, profiles);
  await compare(underLoad("the service", service, load, profiles), [{ against: counted, atLeast: 1.1 }], effort);

  const program = await lab.start("scripts/bench/programs/statements");
  const boxIds = marketplace.boxes.map(({ id }) => id);
  const reads = (
    name: string,
    through: StatementsPlan["through"],
    beside: StatementsPlan["beside"] = null,
  ): Contender => ({
    name,
    measure: (seconds) =>
      program.ask({ clients: CLIENTS, seconds, boxIds, through, beside } satisfies StatementsPlan, RateAndCpu),
  });

  printPart("Reads by key on separate connections (lookups in sql/db.ts)");
  const alone = [{ against: reads("reads through a pool of postgres.js", "postgres.js"), atLeast: 0.9 }];
  await compare(reads("reads through lookups", "lookups"), alone, effort);
  const slow = { work: "slow", through: "sql" } as const;
  const mixed = reads("reads and slow statements, all in sql", "sql", slow);
  await compare(
    reads("reads in lookups, slow statements in sql", "lookups", slow),
    [{ against: mixed, atLeast: 2 }],
    effort,
  );

  printPart("Statements that wait for one row on separate connections (contended in sql/db.ts)");
  const inSql = reads("reads and waiting statements, all in sql", "sql", { work: "one row", through: "sql" });
  const apart = reads("reads in sql, waiting in contended", "sql", { work: "one row", through: "contended" });
  await compare(apart, [{ against: inSql, atLeast: 2 }], effort);
};
