import { createHmac } from "node:crypto";
import autocannon from "autocannon";
import { LoadPlan, type Load } from "../messages.js";
import { answerParent } from "./answer.js";

// The load generator: sends a plan's requests as fast as they are answered, or at a steady rate.

let unique = 0;
const next = () => `bench-${process.pid}-${(unique += 1)}`;

/** Gives the request's event a new id, and signs it as Standard Webhooks specifies. */
function sign(prepared: autocannon.Request, secret: Buffer): autocannon.Request {
  const [id, timestamp] = [next(), String(Math.floor(Date.now() / 1_000))];
  const body = String(prepared.body).replace("EVENT", id);
  const mac = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` };
  return { ...prepared, body, headers: { ...prepared.headers, ...headers } };
}

async function run({
  url,
  connections,
  seconds,
  perSecond,
  requests,
  uniqueHeader,
  webhookSecret,
}: LoadPlan): Promise<Load> {
  const key = webhookSecret === undefined ? null : Buffer.from(webhookSecret.slice("whsec_".length), "base64");
  const slices: autocannon.Request[][] = Array.from({ length: connections }, () => []);
  requests.forEach((request, index) => {
    slices[index % connections]?.push({
      ...request,
      ...(uniqueHeader !== undefined && {
        setupRequest: (prepared: autocannon.Request) => {
          Object.assign(prepared.headers ?? {}, { [uniqueHeader]: next() });
          return prepared;
        },
      }),
      ...(key && { setupRequest: (prepared: autocannon.Request) => sign(prepared, key) }),
    });
  });
  const before = process.cpuUsage();
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    ...(perSecond !== undefined && { overallRate: Math.round(perSecond) }),
    setupClient: (client) => client.setRequests(slices.pop() ?? []),
  });
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: result["2xx"] / result.duration,
    p99Ms: result.latency.p99,
    failed: result.non2xx + result.errors,
    unavailable: result.statusCodeStats?.["503"]?.count ?? 0,
    busy: (user + system) / 1e6 / result.duration,
  };
}

answerParent(LoadPlan, run);
