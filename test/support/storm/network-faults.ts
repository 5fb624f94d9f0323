import { setTimeout as delay } from "node:timers/promises";
import type { Proxy } from "../proxy.js";
import type { Fault, Scene } from "./faults.js";

/** The kinds of connections to Postgres, by the names that the server's list of sessions shows. */
const applications = [
  ...["statements", "lookups", "contended", "searches", "transactions", "signals"].map(
    (name) => `surplus-food ${name}`,
  ),
  "bullmq",
];

/** What may happen to connections: `begin`, and after this many milliseconds all is well again for new ones. */
interface Disturbance {
  name: string;
  begin: (proxy: Proxy) => void;
  forMs: readonly [number, number];
}

/** A black hole lasts longer than a statement may take. */
const disturbances: readonly Disturbance[] = [
  { name: "are cut", begin: (proxy) => proxy.cut(), forMs: [0, 0] },
  { name: "are half closed", begin: (proxy) => proxy.halfClose(), forMs: [0, 3_000] },
  { name: "are a black hole", begin: (proxy) => proxy.freeze(), forMs: [500, 13_000] },
  { name: "are slow", begin: (proxy) => proxy.slow(100), forMs: [500, 5_000] },
  { name: "lose their answers", begin: (proxy) => proxy.loseAnswers(""), forMs: [500, 3_000] },
];

const losesAnswers = (application: string): Disturbance => ({
  name: `lose the answers on those of ${application}`,
  begin: (proxy) => proxy.loseAnswers(application),
  forMs: [500, 3_000],
});

/** Disturbs the connections of all processes, or those of one of them. */
export function networkFaults({ service, random }: Scene): Fault[] {
  const nodes = [...service.apis, ...service.workers];
  const open = (proxy: Proxy) => proxy.open();
  // apps give up a connection that has lost something, which is not the service's affair
  const endOfApps = (proxy: Proxy) => {
    proxy.cut();
    return proxy.open();
  };
  const networks = [
    {
      to: "Postgres",
      proxies: nodes.map(({ toPostgres }) => toPostgres),
      kinds: applications.map(losesAnswers),
      end: open,
    },
    { to: "Postgres around the pooler", proxies: nodes.flatMap(({ around }) => around ?? []), kinds: [], end: open },
    { to: "Postgres of the pooler", proxies: service.pooler ? [service.pooler.toPostgres] : [], kinds: [], end: open },
    { to: "Redis", proxies: nodes.flatMap(({ toRedis }) => toRedis ?? []), kinds: [], end: open },
    { to: "the API", proxies: [service.entrance], kinds: [], end: endOfApps },
  ];
  return networks
    .filter(({ proxies }) => proxies.length > 0)
    .flatMap(({ to, proxies, kinds, end }) =>
      [...disturbances, ...kinds].map(({ name, begin, forMs: [least, most] }) => ({
        name: `connections to ${to} ${name}`,
        strike: async () => {
          const struck = random.between(0, 1) === 0 ? proxies : [random.pick(proxies)];
          struck.forEach(begin);
          await delay(random.between(least, most));
          await Promise.all(struck.map(end));
        },
      })),
    );
}
