import { setTimeout as delay } from "node:timers/promises";
import { describeError } from "../lib/process/describe-error.js";
import { log } from "../lib/process/log.js";
import { openConnection } from "./driver/connection.js";
import { tag, type Db } from "./driver/tag.js";

/** How soon a lost listening connection is opened again. */
const RECONNECT_MS = 250;
/** How often it is asked whether it lives: one that is cut off in silence would never say so. */
const CHECK_MS = 5_000;

type Listener = () => void;

const nothing = (): void => undefined;

/** By name for `onSignal`, by name and id for `awaitResult`. */
const listeners = new Map<string, Set<Listener>>();
const keyOf = (name: string, id: string) => `${name} ${id}`;

function call(key: string): void {
  for (const listener of listeners.get(key) ?? []) listener();
}

function deliver(payload: string): void {
  const [name = ""] = payload.split(" ", 1);
  call(name);
  if (payload !== name) call(payload);
}

/** Signals that came while nobody listened are lost, so whoever waits has to look. */
function callAll(): void {
  for (const key of listeners.keys()) call(key);
}

let stop: (() => Promise<void>) | undefined;

/** Keeps the one listening connection of this process open until it is stopped. */
function startListening(): () => Promise<void> {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      await listenOnce(stopping.signal).catch((error: unknown) => {
        log.debug({ error: describeError(error) }, "listening for signals was interrupted");
      });
      await delay(RECONNECT_MS, undefined, { signal: stopping.signal }).catch(nothing);
    }
  })();
  return () => {
    stopping.abort();
    return running;
  };
}

/** Listens on one connection until it is lost, which rejects, or `stopping` is aborted. */
async function listenOnce(stopping: AbortSignal): Promise<void> {
  const connection = openConnection("signals", { onNotification: deliver });
  const listening = tag(connection.run);
  try {
    await listening`listen signals`;
    callAll();
    while (!stopping.aborted) {
      await connection.whileOpen(delay(CHECK_MS, undefined, { signal: stopping }).catch(nothing));
      await listening`select`;
    }
  } finally {
    await connection.close();
  }
}

function subscribe(key: string, listener: Listener): () => void {
  stop ??= startListening();
  const subscribed = listeners.get(key) ?? new Set();
  listeners.set(key, subscribed.add(listener));
  return () => {
    subscribed.delete(listener);
    if (subscribed.size === 0 && listeners.get(key) === subscribed) listeners.delete(key);
  };
}

/**
 * Tells every process that something happened to `id`, such as a result that is ready in its row. In a transaction it is
 * sent by the commit, and commits that signal wait for each other: not for hot transactions.
 */
export async function signal(db: Db, name: string, id: string): Promise<void> {
  await db`select from pg_notify('signals', ${keyOf(name, id)})`;
}

/** Calls `listener` at every signal of that name, and whenever signals may have been missed. Answers what ends it. */
export function onSignal(name: string, listener: Listener): () => void {
  return subscribe(name, listener);
}

/** Something that is rung, and heard by one who listens now or later. */
class Bell {
  #rung = false;
  #wake = nothing;

  ring = (): void => {
    this.#rung = true;
    this.#wake();
  };

  /** Resolves when it is rung, or was since the last time, or after `ms`. */
  async heard(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
        this.#wake = resolve;
      });
    }
    clearTimeout(timer);
    this.#rung = false;
  }
}

export interface Wait {
  name: string;
  id: string;
  deadlineMs: number;
  /** Ends the wait early: then it rejects with the reason. */
  abort?: AbortSignal | undefined;
}

/**
 * Waits until `check` finds something, and answers it; null after `deadlineMs`. It looks at once, at every signal of that
 * name and id, when signals may have been missed, and at the deadline; in between it costs nothing.
 */
export async function awaitResult<T>(
  { name, id, deadlineMs, abort }: Wait,
  check: () => Promise<T | null>,
): Promise<T | null> {
  const deadline = performance.now() + deadlineMs;
  const bell = new Bell();
  const unsubscribe = subscribe(keyOf(name, id), bell.ring);
  abort?.addEventListener("abort", bell.ring);
  try {
    for (;;) {
      abort?.throwIfAborted();
      const result = await check();
      const left = deadline - performance.now();
      if (result !== null || left <= 0) return result;
      await bell.heard(left);
    }
  } finally {
    abort?.removeEventListener("abort", bell.ring);
    unsubscribe();
  }
}

/** Stops listening; whoever still waits finds out at the deadline. */
export async function closeSignals(): Promise<void> {
  await stop?.();
  stop = undefined;
}
