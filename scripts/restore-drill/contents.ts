import pg from "pg";
import type { ReportProgress } from "../../lib/domain/progress.js";

/** What a table holds: the number of rows, the sums of its money columns, and a fingerprint that any changed value changes. */
export interface Table {
  rows: bigint;
  sums: Map<string, bigint>;
  fingerprint: string;
}

/** What a database holds. */
export interface Contents {
  tables: Map<string, Table>;
  /** Columns, constraints, indexes, triggers, functions and all other objects, each by a readable name. */
  objects: Set<string>;
  /** Constraints that are not validated, and indexes that are not valid. */
  invalid: Set<string>;
}

/** Rows are compared as text, which depends on these settings; and no timeout may end the transaction. */
const SETTINGS = {
  search_path: "",
  DateStyle: "ISO",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  bytea_output: "hex",
  extra_float_digits: "1",
  statement_timeout: "0",
  lock_timeout: "0",
  idle_in_transaction_session_timeout: "0",
  transaction_timeout: "0",
};

/** Runs `work` in a transaction that sees the database as of its beginning, regardless of later writes. */
export async function atOneMoment<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query("begin isolation level repeatable read read only");
  // older servers do not know all of these
  await client.query(
    `select set_config(name, value, true)
     from json_each_text($1::json) as wanted (name, value) join pg_settings using (name)`,
    [JSON.stringify(SETTINGS)],
  );
  try {
    return await work();
  } finally {
    await client.query("rollback").catch(() => undefined);
  }
}

/** The schemas and relations that belong neither to Postgres nor to an extension. */
const OWN_RELATIONS = `
  own_schemas as (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'),
  extensions as (select classid, objid from pg_depend where deptype = 'e'),
  relations as (
    select oid, relkind, oid::regclass::text as name
    from pg_class
    where relnamespace in (select oid from own_schemas)
      and not exists (select from extensions where classid = 'pg_class'::regclass and objid = pg_class.oid)
  )`;

const TABLES = `
  with ${OWN_RELATIONS}
  select
    name,
    array(
      select attname::text
      from pg_attribute
      where attrelid = relations.oid and attnum > 0 and not attisdropped and attname like '%\\_minor'
      order by attnum
    ) as money
  from relations
  where relkind = 'r'
  order by name`;

const OBJECTS = `
  with ${OWN_RELATIONS}
  select 'extension ' || extname as name, true as valid from pg_extension
  union all
  select
    case relkind when 'S' then 'sequence ' when 'v' then 'view ' when 'm' then 'materialized view ' else 'relation ' end
      || name,
    true
  from relations
  where relkind not in ('i', 'I')
  union all
  select
    'column ' || name || '.' || attname || ' ' || format_type(atttypid, atttypmod)
      || case when attnotnull then ' not null' else '' end,
    true
  from relations join pg_attribute on attrelid = relations.oid
  where relkind in ('r', 'p', 'v', 'm') and attnum > 0 and not attisdropped
  union all
  select 'constraint ' || conname || ' of ' || name, convalidated
  from relations join pg_constraint on conrelid = relations.oid
  union all
  select 'index ' || index.name || ' of ' || relations.name, indisvalid
  from relations join pg_index on indrelid = relations.oid join relations as index on index.oid = indexrelid
  union all
  select 'trigger ' || tgname || ' of ' || name, true
  from relations join pg_trigger on tgrelid = relations.oid
  where not tgisinternal
  union all
  select 'value ' || enumlabel || ' of ' || enumtypid::regtype::text, true
  from pg_enum join pg_type on pg_type.oid = enumtypid
  where typnamespace in (select oid from own_schemas)
  union all
  select 'function ' || oid::regprocedure::text || ' ' || md5(prosrc), true
  from pg_proc
  where pronamespace in (select oid from own_schemas)
    and not exists (select from extensions where classid = 'pg_proc'::regclass and objid = pg_proc.oid)`;

async function readTable(client: pg.Client, name: string, money: readonly string[]): Promise<Table> {
  const sums = money.map((column) => `coalesce(sum(${pg.escapeIdentifier(column)}), 0)::text`);
  const { rows } = await client.query<{ rows: string; fingerprint: string; sums: string[] }>(`
    select
      count(*)::text as rows,
      coalesce(sum(hashtextextended("whole row"::text, 0)::numeric), 0)::text as fingerprint,
      array[${sums.join(", ")}]::text[] as sums
    from ${name} as "whole row"`);
  const [row] = rows;
  if (!row) throw new Error(`${name} cannot be counted`);
  return {
    rows: BigInt(row.rows),
    fingerprint: row.fingerprint,
    sums: new Map(money.map((column, place) => [column, BigInt(row.sums[place] ?? 0)])),
  };
}

/** Reads everything a database holds, in the client's current transaction. It reports the tables that are read. */
export async function readContents(
  client: pg.Client,
  signal: AbortSignal,
  report: ReportProgress = () => undefined,
): Promise<Contents> {
  const objects = (await client.query<{ name: string; valid: boolean }>(OBJECTS)).rows;
  const tables = new Map<string, Table>();
  const { rows } = await client.query<{ name: string; money: string[] }>(TABLES);
  for (const { name, money } of rows) {
    signal.throwIfAborted();
    report(tables.size, rows.length);
    tables.set(name, await readTable(client, name, money));
  }
  return {
    tables,
    objects: new Set(objects.map(({ name }) => name)),
    invalid: new Set(objects.filter(({ valid }) => !valid).map(({ name }) => name)),
  };
}

function compareTables(name: string, dumped: Table, restored: Table): string[] {
  if (dumped.rows !== restored.rows) return [`${name}: ${dumped.rows} rows were dumped, ${restored.rows} restored`];
  const sums = [...dumped.sums].filter(([column, sum]) => restored.sums.get(column) !== sum);
  if (sums.length > 0) {
    return sums.map(
      ([column, sum]) => `${name}: the sum of ${column} was ${sum}, and is ${restored.sums.get(column)} now`,
    );
  }
  return dumped.fingerprint === restored.fingerprint
    ? []
    : [`${name}: the number of rows is the same, but their contents differ`];
}

/** Lists the differences between what was dumped and what was restored, one line each. */
export function differences(dumped: Contents, restored: Contents): string[] {
  const missing = [...dumped.objects].filter((object) => !restored.objects.has(object));
  const added = [...restored.objects].filter((object) => !dumped.objects.has(object));
  return [
    ...[...dumped.tables].flatMap(([name, table]) => {
      const copy = restored.tables.get(name);
      return copy ? compareTables(name, table, copy) : [];
    }),
    ...missing.map((object) => `${object} was not restored`),
    ...added.map((object) => `${object} was not dumped`),
    ...[...restored.invalid].map((object) => `${object} is not valid`),
  ];
}
