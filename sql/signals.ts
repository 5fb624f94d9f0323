import { setTimeout as delay } from "node:timers/promises";
import { describeError } from "../lib/process/describe-error.js";
import { Flag } from "../lib/process/flag.js";
import { log } from "../lib/process/log.js";
import { within } from "../lib/process/traces.js";
import { openConnection } from "./driver/connection.js";
import { tag, type Db } from "./driver/tag.js";

/** How long after its loss the listening connection is opened again. */
const RECONNECT_MS = 250;
/** How often the connection is checked: a silent network failure is not reported. */
const CHECK_MS = 5_000;
/** How often a process tries to take the lead. */
const LEAD_MS = 1_000;
/** The advisory lock of the session that leads. */
const LEAD_LOCK = 7_306_030;
/** How much longer than its deadline a wait may take, for its last check. */
const LAST_CHECK_MS = 2_000;

type Listener = () => void;
type Listeners = Map<string, Set<Listener>>;

const nothing = (): void => undefined;

/** By name for `onSignal`, by name and id for `awaitResult`. */
const listeners: Listeners = new Map();
/** By name for `onLedSignal`. */
const ledListeners: Listeners = new Map();
const keyOf = (name: string, id: string) => `${name} ${id}`;

function callListeners(of: Listeners, key: string): void {
  for (const listener of of.get(key) ?? []) listener();
}

function deliver(channel: string, payload: string): void {
  const [name = ""] = payload.split(" ", 1);
  const of = channel === "led_signals" ? ledListeners : listeners;
  callListeners(of, name);
  if (payload !== name) callListeners(of, payload);
}

/** After an interruption signals may be lost, so every listener is called, to check its row. */
function callEveryListener(of: Listeners): void {
  for (const key of of.keys()) callListeners(of, key);
}

/** Ends the pause between two checks. */
let pause = new AbortController();

/**
 * Listens to signals as long as this process has listeners for them; returns whether it does. At every signal of a database
 * Postgres wakes all its sessions that listen to anything, so one that needs only led signals listens to nothing unless it leads.
 */
async function checkHearing(listening: Db, hears: boolean): Promise<boolean> {
  const needed = listeners.size > 0;
  if (hears === needed) return hears;
  await (needed ? listening`listen signals` : listening`unlisten signals`);
  if (needed) callEveryListener(listeners);
  return needed;
}

/**
 * Takes the lead unless another process has it, or gives it up when this process takes no part any more; returns whether it leads.
 * The end of the session frees the lock.
 */
async function checkLead(listening: Db, leads: boolean): Promise<boolean> {
  const follows = ledListeners.size > 0;
  if (follows === leads) {
    await listening`select`;
    return leads;
  }
  if (leads) {
    await listening`unlisten led_signals`;
    await listening`select from pg_advisory_unlock(${LEAD_LOCK}::bigint)`;
    return false;
  }
  const [lock] = await listening<{ taken: boolean | null }[]>`
    select pg_try_advisory_lock(${LEAD_LOCK}::bigint) as taken`;
  if (lock?.taken !== true) return false;
  await listening`listen led_signals`;
  callEveryListener(ledListeners);
  return true;
}

let stop: (() => Promise<void>) | undefined;

/** Keeps the one listening connection of this process open until it is stopped. */
function startListening(): () => Promise<void> {
  const stopping = new AbortController();
  // a request may begin it, and it is no part of that request's trace
  const running = within(undefined, async () => {
    while (!stopping.signal.aborted) {
      await listenOnce(stopping.signal).catch((error: unknown) => {
        log.debug({ error: describeError(error) }, "listening for signals was interrupted");
      });
      await delay(RECONNECT_MS, undefined, { signal: stopping.signal }).catch(nothing);
    }
  });
  return () => {
    stopping.abort();
    pause.abort();
    return running;
  };
}

/** Listens on one connection until it is lost, which rejects, or `stopping` is aborted. */
async function listenOnce(stopping: AbortSignal): Promise<void> {
  const connection = openConnection("signals", { direct: true, onNotification: deliver });
  const listening = tag(connection.run);
  try {
    let hears = false;
    let leads = false;
    while (!stopping.aborted) {
      // what changes from here on ends the pause before it begins
      pause = new AbortController();
      hears = await checkHearing(listening, hears);
      leads = await checkLead(listening, leads);
      const ms = leads || ledListeners.size === 0 ? CHECK_MS : LEAD_MS;
      await connection.whileOpen(delay(ms, undefined, { signal: pause.signal, ref: false }).catch(nothing));
    }
  } finally {
    await connection.close();
  }
}

function subscribe(to: Listeners, key: string, listener: Listener): () => void {
  const subscribed = to.get(key) ?? new Set();
  to.set(key, subscribed.add(listener));
  stop ??= startListening();
  if (to.size === 1) pause.abort();
  return () => {
    subscribed.delete(listener);
    if (subscribed.size === 0 && to.get(key) === subscribed) to.delete(key);
  };
}

/** Calls `listener` at every signal of that name, and whenever signals may have been missed. Returns the function that ends it. */
export const onSignal = (key: string, listener: Listener): (() => void) => subscribe(listeners, key, listener);

/**
 * Calls `listener` at the led signals of that name, if this process leads; and whenever signals may have been missed. Of the
 * processes that call this one leads, until its listener ends. Returns the function that ends it.
 *
 * A signal that wakes every process makes each work for nothing but one: with sixteen it cost more than the jobs that it announced.
 */
export function onLedSignal(key: string, listener: Listener): () => void {
  const unsubscribe = subscribe(ledListeners, key, listener);
  return () => {
    unsubscribe();
    // another process may lead at once
    if (ledListeners.size === 0) pause.abort();
  };
}

/**
 * Signals every process that the row `id` has changed. In a transaction the commit sends the signal, and such commits wait for
 * each other: not for hot transactions.
 */
export const signal = (db: Db, name: string, id: string) => db`select from pg_notify('signals', ${keyOf(name, id)})`;

/** Calls the listeners of `onLedSignal` in the process that leads; as `signal`, with the commit. */
export const signalLeader = (db: Db, name: string) => db`select from pg_notify('led_signals', ${name})`;

export interface Wait {
  name: string;
  id: string;
  deadlineMs: number;
  /** Ends the wait early: then it rejects with the reason. */
  abort?: AbortSignal | undefined;
}

/**
 * Waits until `check` returns a result, and returns that; null after `deadlineMs`, or 2 s later when the last check gets no
 * answer. It calls `check` at once, at every signal of that name and id, when signals may have been missed, and at the deadline.
 */
export async function awaitResult<T>(
  { name, id, deadlineMs, abort }: Wait,
  check: () => Promise<T | null>,
): Promise<T | null> {
  const deadline = performance.now() + deadlineMs;
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<null>((resolve) => (timer = setTimeout(resolve, deadlineMs + LAST_CHECK_MS, null)));
  const changed = new Flag();
  const unsubscribe = onSignal(keyOf(name, id), changed.set);
  abort?.addEventListener("abort", changed.set);
  try {
    for (;;) {
      abort?.throwIfAborted();
      const result = await Promise.race([check(), overdue]);
      const left = deadline - performance.now();
      if (result !== null || left <= 0) return result;
      await changed.wait(left);
    }
  } finally {
    clearTimeout(timer);
    abort?.removeEventListener("abort", changed.set);
    unsubscribe();
  }
}

/** Stops listening; open waits check once more at their deadline. */
export async function closeSignals(): Promise<void> {
  await stop?.();
  stop = undefined;
}
