/** How much to measure. */
export interface Effort {
  rounds: number;
  /** Duration of one measurement. */
  seconds: number;
  warmUpSeconds: number;
  /** Number of single latencies. */
  samples: number;
}

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
  /** Least ratio to this contender. */
  atLeast: number;
  against: Contender;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

export function printRow(name: string, columns: readonly string[]): void {
  print(`  ${name.padEnd(44)}${columns.map((column) => column.padStart(14)).join("")}`);
}

/** Prints a goal beside the figure that was reached. */
export function printGoal(what: string, reached: string, goal: string, met: boolean): void {
  printRow(`→ ${what}`, [reached, `goal ${goal}`, met ? "reached" : "MISSED"]);
}

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
      `${whole.format(median(samples.map(({ perSecond }) => perSecond)))}/s`,
      p99 === null ? "" : `p99 ${whole.format(p99)} ms`,
      cpu === null ? "" : `CPU ${whole.format(cpu)} µs`,
    ]);
  }
  for (const [index, { against, atLeast }] of goals.entries()) {
    const baseline = others[index] ?? [];
    const ratios = subjectSamples.map(({ perSecond }, round) => perSecond / (baseline[round]?.perSecond ?? Number.NaN));
    const ratio = median(ratios);
    printGoal(`of ${against.name}`, ratio.toFixed(2), `≥ ${atLeast}`, ratio >= atLeast);
    const cpu = (cpuOf(baseline) ?? Number.NaN) / (cpuOf(subjectSamples) ?? Number.NaN);
    const range = `between ${Math.min(...ratios).toFixed(2)} and ${Math.max(...ratios).toFixed(2)} by round`;
    print(`      ${range}${Number.isNaN(cpu) ? "" : `; by CPU time ${cpu.toFixed(2)}`}`);
  }
}
