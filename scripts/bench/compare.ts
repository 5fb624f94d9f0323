import { z } from "zod";
import { printGoal, printRow, type Figure } from "./report.js";

/** How much to measure. */
export const Effort = z.object({
  rounds: z.int(),
  /** Duration of one measurement. */
  seconds: z.number(),
  warmUpSeconds: z.number(),
  /** Number of single latencies. */
  samples: z.int(),
});
export type Effort = z.output<typeof Effort>;

export interface Sample {
  perSecond: number;
  p99Ms?: number;
  /** CPU time of the measured process per unit of work, in microseconds. */
  cpuMicros?: number;
}

/** One of the implementations that are compared. */
export interface Contender {
  name: string;
  measure(seconds: number): Promise<Sample>;
}

export interface Goal {
  /** Least ratio to this contender's rate. */
  atLeast: number;
  /** Least ratio of its CPU time per unit of work to the subject's. */
  byCpuAtLeast?: number;
  against: Contender;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** The middle and the slow end of latencies in milliseconds. */
export const percentiles = (values: readonly number[]): Figure[] =>
  [0.5, 0.99].map((q) => ({ name: `p${q * 100}`, value: quantile(values, q), unit: "ms" }));

/** The median of one figure of the samples; null when no sample has it. */
function medianOf(samples: readonly Sample[], value: (sample: Sample) => number | undefined): number | null {
  const values = samples.map(value).filter((each) => each !== undefined);
  return values.length === 0 ? null : median(values);
}

const p99Of = (samples: readonly Sample[]) => medianOf(samples, ({ p99Ms }) => p99Ms);
const cpuOf = (samples: readonly Sample[]) => medianOf(samples, ({ cpuMicros }) => cpuMicros);

async function measureInTurn(
  contenders: readonly Contender[],
  { rounds, seconds, warmUpSeconds }: Effort,
): Promise<Sample[][]> {
  const samples: Sample[][] = contenders.map(() => []);
  for (const contender of contenders) await contender.measure(warmUpSeconds);
  for (let round = 0; round < rounds; round += 1) {
    // the order is reversed every round, so that none always follows the same other one
    const order = round % 2 === 0 ? [...contenders.entries()] : [...contenders.entries()].reverse();
    for (const [index, contender] of order) samples[index]?.push(await contender.measure(seconds));
  }
  return samples;
}

/** Measures all contenders round by round, and prints their medians and the subject's ratio to each of the others. */
export async function compare(subject: Contender, goals: readonly Goal[], effort: Effort): Promise<void> {
  const contenders = [subject, ...goals.map(({ against }) => against)];
  const [subjectSamples = [], ...others] = await measureInTurn(contenders, effort);
  for (const [index, samples] of [subjectSamples, ...others].entries()) {
    const p99 = p99Of(samples);
    const cpu = cpuOf(samples);
    printRow(contenders[index]?.name ?? "", [
      { value: median(samples.map(({ perSecond }) => perSecond)), unit: "/s" },
      ...(p99 === null ? [] : [{ name: "p99", value: p99, unit: "ms" }]),
      ...(cpu === null ? [] : [{ name: "CPU", value: cpu, unit: "µs" }]),
    ]);
  }
  for (const [index, { against, atLeast, byCpuAtLeast }] of goals.entries()) {
    const baseline = others[index] ?? [];
    const ratios = subjectSamples.map(({ perSecond }, round) => perSecond / (baseline[round]?.perSecond ?? Number.NaN));
    const name = `of ${against.name}`;
    printGoal({ name, value: median(ratios), unit: "", sign: "≥", goal: atLeast });
    const [cpu, ofCpu] = [cpuOf(subjectSamples), cpuOf(baseline)];
    const byCpu = cpu === null || ofCpu === null ? null : { name: "by CPU time", value: ofCpu / cpu, unit: "" };
    if (byCpu && byCpuAtLeast !== undefined)
      printGoal({ ...byCpu, name: `${name}, by CPU time`, sign: "≥", goal: byCpuAtLeast });
    printRow("    by round", [
      { name: "least", value: Math.min(...ratios), unit: "" },
      { name: "most", value: Math.max(...ratios), unit: "" },
      ...(byCpu ? [byCpu] : []),
    ]);
  }
}
