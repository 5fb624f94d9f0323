import type { Measure } from "./chapter.js";
import { median, quantile } from "./compare.js";
import { profileReads } from "./http.js";
import { Flood, Pace, type FloodPlan, type PacePlan } from "./messages.js";
import type { Program } from "./program.js";
import { printGoal, printRow } from "./report.js";

const CONNECTIONS = 600;
const PACE_MS = 10;
const LONGEST_READ_MS = 100;

/** All pages of the largest size around one place. */
async function searchPaths({ url }: Program): Promise<string[]> {
  const paths: string[] = [];
  let path: string | undefined = "/api/v1/boxes?lat=55.725&lng=37.6&radius=50000&limit=200";
  while (path !== undefined) {
    paths.push(path);
    const { headers }: Response = await fetch(url + path);
    path = /^<([^>]+)>/.exec(headers.get("link") ?? "")?.[1];
  }
  return paths;
}

/** Measures reads of profiles, with a token, while 600 connections search for boxes without one. */
export const readBesideSearches: Measure = async (lab, marketplace, { rounds, seconds, warmUpSeconds }) => {
  const [api, flood, pace] = await Promise.all([
    lab.start("api/server"),
    lab.start("scripts/bench/programs/flood"),
    lab.start("scripts/bench/programs/pace"),
  ]);
  const { requests } = await profileReads(marketplace);
  const paths = await searchPaths(api);
  const read = async (duration: number) => {
    const plan: PacePlan = { url: api.url, everyMs: PACE_MS, seconds: duration, requests };
    const { latencies, failed } = await pace.ask(plan, Pace);
    if (failed > 0) throw new Error(`the service refused ${failed} reads`);
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
  };
  const search = (addresses: number, duration: number) => {
    const plan: FloodPlan = { url: api.url, connections: CONNECTIONS, addresses, seconds: duration, paths };
    return flood.ask(plan, Flood);
  };

  const cases = [
    { name: "alone", addresses: 0 },
    { name: "beside searches from one address", addresses: 1 },
    { name: "beside searches from 200 addresses", addresses: 200 },
  ].map((each) => ({ ...each, rounds: [] as Awaited<ReturnType<typeof read>>[], pages: 0, refused: 0 }));
  await Promise.all([read(warmUpSeconds), search(1, warmUpSeconds)]);
  for (let round = 0; round < rounds; round += 1) {
    for (const each of cases) {
      const searching = each.addresses > 0 ? search(each.addresses, seconds) : null;
      each.rounds.push(await read(seconds));
      const { 200: pages = 0, 503: refused = 0 } = (await searching)?.statuses ?? {};
      each.pages += pages;
      each.refused += refused;
    }
  }
  for (const { name, addresses, rounds: all, pages, refused } of cases) {
    const p99s = all.map(({ p99 }) => p99);
    const [p50, p99] = [median(all.map((round) => round.p50)), median(p99s)];
    printRow(name, [
      { name: "p50", value: p50, unit: "ms" },
      { name: "p99", value: p99, unit: "ms" },
    ]);
    if (addresses === 0) continue;
    printGoal({ name: `p99 ${name}`, value: p99, unit: "ms", sign: "≤", goal: LONGEST_READ_MS });
    printRow("    by round", [
      { name: "least", value: Math.min(...p99s), unit: "ms" },
      { name: "most", value: Math.max(...p99s), unit: "ms" },
      { name: "200 ×", value: pages, unit: "" },
      { name: "503 ×", value: refused, unit: "" },
    ]);
  }
};
