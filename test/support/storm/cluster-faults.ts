import type { RedisCluster } from "../redis-groups.js";
import type { Fault } from "./faults.js";

/** What the keys of a busy queue begin with: they are on one node. */
export const QUEUE = "{push}";

/** The faults of Redis Cluster. After each of them every node is up and every master has a replica. */
export function faultsOfCluster(cluster: RedisCluster): Fault[] {
  const faults: Record<string, () => Promise<void>> = {
    "the slot of a queue moves": () => cluster.moveSlotOf(QUEUE),
    "a master is killed while the slot of a queue moves": () => cluster.breakMoveOf(QUEUE),
    "a master is killed": async () => {
      const master = await cluster.masterOf(QUEUE);
      await master.kill();
      await cluster.masterOf(QUEUE, master);
      await master.restart();
    },
    "a master is restarted empty": async () => {
      const master = await cluster.masterOf(QUEUE);
      await master.restart();
    },
    "a master stops answering": async () => {
      const master = await cluster.masterOf(QUEUE);
      master.freeze();
      await cluster.masterOf(QUEUE, master);
      master.thaw();
    },
  };
  return Object.entries(faults).map(([name, strike]) => ({
    name,
    strike: async () => {
      await strike();
      await cluster.healed();
    },
  }));
}
