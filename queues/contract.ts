import type { z } from "zod";

/** A job's payload: ids and small facts, since payloads are readable in Redis, in dumps and on the dashboard. */
export interface Payload {
  readonly [name: string]: string | number | boolean | null;
}

/** What the producers and workers of a queue agree on. */
export interface Contract<P extends Payload = Payload> {
  readonly queue: string;
  readonly payload: z.ZodType<P>;
  /** How many times a handler may start a job, crashes included, before the job is dead. */
  readonly attempts: number;
  /** Wait before the second attempt. It doubles with each further one; a random part of up to half is taken off. */
  readonly backoffMs: number;
  /** Jobs that a process runs at once, unless `WORKER_CONCURRENCY` says otherwise. */
  readonly concurrency: number;
}

type Terms<P extends Payload> = Omit<Contract<P>, "concurrency"> & { readonly concurrency?: number };

/** Declares a queue; its doc comment is the promise that its handler keeps. */
export function contract<P extends Payload>(terms: Terms<P>): Contract<P> {
  return Object.freeze({ concurrency: 10, ...terms });
}
