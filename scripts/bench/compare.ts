/** How much is measured. */
export interface Effort {
  rounds: number;
  /** Of one measurement. */
  seconds: number;
  warmUpSeconds: number;
  /** Of single latencies. */
  samples: number;
}

export interface Sample {
  perSecond: number;
  p99Ms?: number;
  /** CPU time of the process under measurement per piece of work, in microseconds. */
  cpuMicros?: number;
}

/** One of those that are compared. */
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

/** A goal beside what was reached. */
export function printGoal(what: string, reached: string, goal: string, met: boolean): void {
  printRow(`→ ${what}`, [reached, `goal ${goal}`, met ? "reached" : "MISSED"]);
}

/** The median of what these samples tell; null when they do not. */
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
    // none always has its turn right after the same other one
    const order = round % 2 === 0 ? [...contenders.entries()] : [...contenders.entries()].reverse();
    for (const [index, contender] of order) samples[index]?.push(await contender.measure(seconds));
  }
  return samples;
}

/** Measures all contenders in turn, round by round, and prints their medians and what ours reaches of the others. */
export async function compare(ours: Contender, goals: readonly Goal[], effort: Effort): Promise<void> {
  const contenders = [ours, ...goals.map(({ against }) => against)];
  const [mine = [], ...others] = await measureInTurn(contenders, effort);
  for (const [index, samples] of [mine, ...others].entries()) {
    const p99 = p99Of(samples);
    const cpu = cpuOf(samples);
    printRow(contenders[index]?.name ?? "", [
      `${whole.format(median(samples.map(({ perSecond }) => perSecond)))}/s`,
      p99 === null ? "" : `p99 ${whole.format(p99)} ms`,
      cpu === null ? "" : `CPU ${whole.format(cpu)} µs`,
    ]);
  }
  for (const [index, { against, atLeast }] of goals.entries()) {
    const theirs = others[index] ?? [];
    const ratios = mine.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? Number.NaN));
    const ratio = median(ratios);
    printGoal(`of ${against.name}`, ratio.toFixed(2), `≥ ${atLeast}`, ratio >= atLeast);
    const cpu = (cpuOf(theirs) ?? Number.NaN) / (cpuOf(mine) ?? Number.NaN);
    const range = `between ${Math.min(...ratios).toFixed(2)} and ${Math.max(...ratios).toFixed(2)} by round`;
    print(`      ${range}${Number.isNaN(cpu) ? "" : `; by CPU time ${cpu.toFixed(2)}`}`);
  }
}
