import type { ConnectionOptions } from "bullmq";

/** A call to the broker that takes longer fails; job ids are stable, so repeating it is safe. */
export const CALL_TIMEOUT_MS = 5_000;

/** It has some of the queues only, and refuses calls about the others. */
export class NodeOfCluster extends Error {
  override name = "NodeOfCluster";
  override message = "REDIS_URL names one node of a cluster and must begin with redis+cluster:";
}

/** The connections of a process to the broker. */
export interface Connections {
  /** The broker in words, without its credentials. */
  readonly name: string;
  /** For adding and reading jobs: fails fast. */
  readonly producer: ConnectionOptions;
  /** For workers: waits as long as it takes. Made when the process opens its first worker. */
  consumer(): ConnectionOptions;
  prepare(): Promise<void>;
  /** Resolves when these queues can be read; rejects with NodeOfCluster when some never can. */
  ping(queues: readonly string[]): Promise<void>;
  /** What each server of Redis says about itself; none when the broker lives in Postgres. */
  describe(): Promise<string[]>;
  /** The queues of Redis that `remember` was never given, or that were lost since. */
  listLost(): Promise<string[]>;
  remember(queues: readonly string[]): Promise<void>;
  close(): Promise<void>;
}
