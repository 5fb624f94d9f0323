import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { OwnPostgres } from "./own-postgres.js";

/** A step of a plan, as it went. */
const Node = z.object({
  "Node Type": z.string(),
  "Relation Name": z.string().optional(),
  "Index Name": z.string().optional(),
  "Actual Rows": z.number().default(0),
  "Actual Loops": z.number().default(0),
  "Rows Removed by Filter": z.number().default(0),
  "Rows Removed by Index Recheck": z.number().default(0),
  get Plans() {
    return z.array(Node).optional();
  },
});
type Node = z.output<typeof Node>;

const Logged = z.object({ "Query Text": z.string(), Plan: Node });

/** A statement that was carried out, one inside a function included. */
export interface Executed {
  query: string;
  /** Where it read rows. */
  scans: { table: string; how: string; rows: number }[];
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

/** Has the server write down how it carries out each statement of connections that are made from now on. */
export async function recordPlans({ url, ask }: OwnPostgres): Promise<{ take: () => Promise<Executed[]> }> {
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
  const file = join(row?.folder ?? "", "server.log");
  let read = 0;
  return {
    /** What was carried out since this was last asked. */
    async take() {
      const log = await readFile(file, "utf8");
      const entries = log.slice(read).split(/\n(?!\t)/);
      read = log.length;
      return entries.flatMap((entry) => {
        const [, json] = /LOG: {2}duration: [\d.]+ ms {2}plan:\n(.*)$/s.exec(entry) ?? [];
        if (json === undefined) return [];
        const { "Query Text": query, Plan } = Logged.parse(JSON.parse(json.replaceAll(/^\t/gm, "")));
        return [{ query: query.replaceAll(/\s+/g, " ").trim(), scans: scansOf(Plan) }];
      });
    },
  };
}
