import autocannon from "autocannon";
import { LoadPlan, type Load } from "../messages.js";
import { answerParent } from "./answer.js";
import { nextId, signWith } from "./unique.js";

// The load generator: sends a plan's requests as fast as they are answered.

async function run({ url, connections, seconds, requests, uniqueHeader, webhookSecret }: LoadPlan): Promise<Load> {
  const sign = webhookSecret === undefined ? null : signWith(webhookSecret);
  const slices: autocannon.Request[][] = Array.from({ length: connections }, () => []);
  requests.forEach((request, index) => {
    slices[index % connections]?.push({
      ...request,
      ...(uniqueHeader !== undefined && {
        setupRequest: (prepared: autocannon.Request) => {
          Object.assign(prepared.headers ?? {}, { [uniqueHeader]: nextId() });
          return prepared;
        },
      }),
      ...(sign && {
        setupRequest: (prepared: autocannon.Request) => {
          const { body, headers } = sign(String(prepared.body));
          return { ...prepared, body, headers: { ...prepared.headers, ...headers } };
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
