import { statSync } from "node:fs";
import type { Measure } from "./chapter.js";
import { median } from "./compare.js";
import { PRICE } from "./marketplace.js";
import { DeliveryRate, type OrderSqlPlan } from "./messages.js";
import { print, printGoal, printRow } from "./report.js";

const MOST_RATIO = 1.6;

/** Compares Postgres's CPU time for an order with that of one statement that writes the same rows without a check. */
export const compareOrderSql: Measure = async (lab, { boxes }, { rounds, seconds, warmUpSeconds }) => {
  if (!statSync("/proc/self/schedstat", { throwIfNoEntry: false })) {
    print("  skipped: this system has no /proc");
    return;
  }
  const program = await lab.start("scripts/bench/programs/order-sql");
  const totalMinor = Math.round(PRICE * 100);
  const place = async (how: OrderSqlPlan["how"], duration: number) => {
    const plan: OrderSqlPlan = { how, seconds: duration, boxes, totalMinor };
    return (await program.ask(plan, DeliveryRate)).cpuMicros;
  };
  const micros: Record<OrderSqlPlan["how"], number[]> = { function: [], bare: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const how of ["function", "bare"] as const) {
      const cpu = await place(how, round === 0 ? warmUpSeconds : seconds);
      if (round > 0) micros[how].push(cpu);
    }
  }
  const [checked, bare] = [median(micros.function), median(micros.bare)];
  printRow("place_order", [{ name: "CPU", value: checked, unit: "µs" }]);
  printRow("one statement that checks nothing", [{ name: "CPU", value: bare, unit: "µs" }]);
  printGoal({
    name: "CPU time, of that of the bare statement",
    value: checked / bare,
    unit: "",
    sign: "≤",
    goal: MOST_RATIO,
  });
};
