import autocannon from "autocannon";
import { LoadPlan, type Load } from "../messages.js";
import { answerParent } from "./answer.js";

// Sends requests over so many connections for so long, as fast as they are answered.

let unique = 0;

async function run({ url, connections, seconds, requests, uniqueHeader }: LoadPlan): Promise<Load> {
  const slices: autocannon.Request[][] = Array.from({ length: connections }, () => []);
  requests.forEach((request, index) => {
    slices[index % connections]?.push({
      ...request,
      ...(uniqueHeader !== undefined && {
        setupRequest: (prepared: autocannon.Request) => {
          Object.assign(prepared.headers ?? {}, { [uniqueHeader]: `bench-${process.pid}-${(unique += 1)}` });
          return prepared;
        },
      }),
    });
  });
  const before = process.cpuUsage();
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    setupClient: (client) => client.setRequests(slices.pop() ?? []),
  });
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: result["2xx"] / result.duration,
    p99Ms: result.latency.p99,
    failed: result.non2xx + result.errors,
    busy: (user + system) / 1e6 / result.duration,
  };
}

answerParent(LoadPlan, run);
