import { overview } from "../../api/common/overview.js";
import { options } from "./arguments.js";
import { print } from "./table.js";

/** Prints the state of queues, processes and third parties. */
export async function now(): Promise<void> {
  const state = await overview();
  if (options.json) {
    process.stdout.write(`${JSON.stringify(state, null, 2)}\n`);
    return;
  }
  print(
    state.queues.map(
      ({
        queue,
        due,
        oldestDueSeconds,
        waiting,
        dead,
        stagedPerMinute,
        donePerMinute,
        pausedWhy,
        concurrency,
        perMinute,
      }) => ({
        ...{ queue, due, oldest: Math.round(oldestDueSeconds), waiting, dead, in: stagedPerMinute, out: donePerMinute },
        paused: pausedWhy,
        atOnce: concurrency,
        perMinute,
      }),
    ),
  );
  const { queuedPosEvents, parkedPosEvents, rollupDaysDue, canaryAgeSeconds } = state;
  process.stdout.write("\n");
  print([
    {
      queuedPosEvents,
      parkedPosEvents,
      rollupDaysDue,
      canaryAgeSeconds: canaryAgeSeconds === null ? null : Math.round(canaryAgeSeconds),
    },
  ]);
  process.stdout.write("\n");
  print(
    state.processes.map(({ id, role, version, startedAt, alive, waiting }) => ({
      ...{ process: id, role, version, startedAt, alive, waiting },
    })),
  );
  process.stdout.write("\n");
  print(
    state.vendors.map(({ vendor, calls, failed, succeededAt, failedAt }) => ({
      ...{ vendor, calls, failed, succeededAt, failedAt },
    })),
  );
  if (state.paused.length === 0) return;
  process.stdout.write("\n");
  print(
    state.paused.map(({ origin, queue, processes, since, until }) => ({
      paused: origin,
      queue,
      processes,
      since,
      until,
    })),
  );
}
