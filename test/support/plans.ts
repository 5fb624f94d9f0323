import { open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { OwnPostgres } from "./own-postgres.js";

/** A node of an executed plan. */
const Node = z.object({
  "Node Type": z.string(),
  "Relation Name": z.string().optional(),
  "Index Name": z.string().optional(),
  "Actual Rows": z.number().default(0),
  "Actual Loops": z.number().default(0),
  "Rows Removed by Filter": z.number().default(0),
  "Rows Removed by Index Recheck": z.number().default(0),
  "Rows Removed by Join Filter": z.number().default(0),
  get Plans() {
    return z.array(Node).optional();
  },
});
type Node = z.output<typeof Node>;

const Logged = z.object({ "Query Text": z.string(), Plan: Node });

/** An executed statement, statements inside functions included. */
export interface Executed {
  query: string;
  /** Where it read rows. */
  scans: { table: string; how: string; rows: number }[];
  /** The number of pairs of rows that its joins compared in vain. */
  mismatches: number;
}

function scansOf(node: Node): Executed["scans"] {
  const table = node["Relation Name"];
  const touched = node["Actual Rows"] + node["Rows Removed by Filter"] + node["Rows Removed by Index Recheck"];
  const own =
    table !== undefined && node["Node Type"].includes("Scan")
      ? [
          {
            table,
            how: [node["Node Type"], node["Index Name"]].filter(Boolean).join(" by "),
            rows: Math.round(touched * node["Actual Loops"]),
          },
        ]
      : [];
  return [...own, ...(node.Plans ?? []).flatMap(scansOf)];
}

const mismatchesOf = (node: Node): number =>
  (node.Plans ?? []).reduce(
    (sum, part) => sum + mismatchesOf(part),
    node["Rows Removed by Join Filter"] * node["Actual Loops"],
  );

interface Recorder {
  /** Returns the statements executed since the last call. */
  take: () => Promise<Executed[]>;
  close: () => Promise<void>;
}

/** Makes the server log the plan of each statement on new connections. */
export async function recordPlans({ url, ask }: OwnPostgres): Promise<Recorder> {
  const database = new URL(url).pathname.slice(1);
  const settings = {
    session_preload_libraries: "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
  };
  await ask("load 'auto_explain'").catch(() => undefined);
  for (const [name, value] of Object.entries(settings))
    await ask(`alter database ${database} set ${name} = '${value}'`);
  const [row] = await ask<{ folder: string }>("select current_setting('data_directory') as folder");
  const log = await open(join(row?.folder ?? "", "server.log"));
  let unread = "";
  return {
    close: () => log.close(),
    async take() {
      // reads on from where the last call ended; a background process may still be writing the last plan
      unread += await log.readFile("utf8");
      const [finished = ""] = /^.*\n\t\}\n/s.exec(unread) ?? [];
      unread = unread.slice(finished.length);
      return finished.split(/\n(?!\t)/).flatMap((entry) => {
        const [, json] = /LOG: {2}duration: [\d.]+ ms {2}plan:\n(.*)$/s.exec(entry) ?? [];
        if (json === undefined) return [];
        const { "Query Text": query, Plan } = Logged.parse(JSON.parse(json.replaceAll(/^\t/gm, "")));
        return [{ query: query.replaceAll(/\s+/g, " ").trim(), scans: scansOf(Plan), mismatches: mismatchesOf(Plan) }];
      });
    },
  };
}
