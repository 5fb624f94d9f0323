export interface QueueCounts {
  queue: string;
  completed: number;
  waiting: number;
  failed: number;
}

/** Reads the counts of each queue's jobs from the service's metrics. */
export async function queueCounts(base: string): Promise<QueueCounts[]> {
  const token = process.env["METRICS_TOKEN"];
  const response = await fetch(
    `${base}/metrics`,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  );
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
  const counts = new Map<string, QueueCounts>();
  for (const [, labels = "", value] of (await response.text()).matchAll(/^queue_jobs\{(.*)\} (\d+)$/gm)) {
    const [, queue = ""] = /queue="([^"]*)"/.exec(labels) ?? [];
    const [, state = ""] = /state="([^"]*)"/.exec(labels) ?? [];
    const entry = counts.get(queue) ?? { queue, completed: 0, waiting: 0, failed: 0 };
    if (state === "completed" || state === "waiting" || state === "failed") entry[state] = Number(value);
    counts.set(queue, entry);
  }
  return [...counts.values()].sort((a, b) => a.queue.localeCompare(b.queue));
}
