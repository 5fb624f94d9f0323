import type { z } from "zod";

/** What a job may carry: ids and small facts, since payloads are readable in Redis, in dumps and on the dashboard. */
export interface Payload {
  readonly [name: string]: string | number | boolean | null;
}

/** What the two sides of one queue agree on. */
export interface Contract<P extends Payload = Payload> {
  readonly queue: string;
  readonly payload: z.ZodType<P>;
  /** How many times a handler may start on a job, crashes included, before the job counts as dead. */
  readonly attempts: number;
  /** Wait before the second attempt; it doubles with every further one, and each wait is shortened by a random part of up to half. */
  readonly backoffMs: number;
  /** Jobs one process works on at the same time, unless `WORKER_CONCURRENCY` says otherwise. */
  readonly concurrency: number;
}

type Terms<P extends Payload> = Omit<Contract<P>, "concurrency"> & { readonly concurrency?: number };

/** Declares a queue; its doc comment is the promise that its handler keeps. */
export function contract<P extends Payload>(terms: Terms<P>): Contract<P> {
  return Object.freeze({ concurrency: 10, ...terms });
}
