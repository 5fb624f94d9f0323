import { execFile, spawnSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe } from "@jest/globals";
import { scratchFolder } from "./scratch.js";

const available = spawnSync("promtool", ["--version"]).status === 0;

/** A suite that needs Prometheus's own program; without it it is reported as skipped. */
export const describeWithPromtool: (name: string, suite: () => void) => void = (name, suite) =>
  available ? describe(name, suite) : describe.skip(`${name} (no promtool on the PATH)`, suite);

/** The alert rules. */
export const ALERTS = fileURLToPath(new URL("../../scripts/ops/alerts.yml", import.meta.url));

export async function promtool(...args: string[]): Promise<string> {
  return (await promisify(execFile)("promtool", args)).stdout;
}

/** Samples a minute apart, in promtool's notation, by series. */
export type Series = Readonly<Record<string, string>>;

/** Whether an alert fires at a minute of the series, or at any minute up to it; `labels` are those that it must have. */
export interface Expectation {
  alert: string;
  minute: number;
  fires: boolean;
  ever?: boolean;
  labels?: string;
}

/** Runs the rules on series; throws, with what promtool found, when an alert does not fire as it should. */
export async function testRules(...scenes: readonly [Series, readonly Expectation[]][]): Promise<void> {
  const folder = await scratchFolder("promtool");
  const file = join(folder, "test.json");
  const tests = scenes.map(([series, expectations]) => ({
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: expectations.map(({ alert, minute, fires, ever = false, labels = "" }) => {
      const firing = `ALERTS{alertstate="firing",alertname="${alert}"${labels === "" ? "" : `,${labels}`}}`;
      return {
        expr: `group(${ever ? `max_over_time(${firing}[${minute}m])` : firing})`,
        eval_time: `${minute}m`,
        exp_samples: fires ? [{ labels: "{}", value: 1 }] : [],
      };
    }),
  }));
  try {
    await writeFile(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: "1m", tests }));
    await promtool("test", "rules", file);
  } finally {
    await rm(folder, { recursive: true });
  }
}
