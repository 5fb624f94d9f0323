import pg from "pg";

/** The file that shows the migrated schema. */
export const schemaPath = "sql/schema.sql";

const HEAD = `-- The schema of a migrated database, in the order of names: a diff of this file shows what a migration changes. The
-- reasons are in migrations/, the bodies of functions in functions/. \`npm run schema\` writes this file.`;

// Each query returns one block of text per row. Names are compared as bytes, whatever the database's collation.

const TYPES = `
  select t.typname,
    format(E'CREATE TYPE %s AS ENUM (\\n  %s\\n);', t.typname,
      string_agg(quote_literal(e.enumlabel), E',\\n  ' order by e.enumsortorder)
    ) as block
  from pg_type t
  join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = 'public'::regnamespace
  group by t.typname
  union all
  select c.relname,
    format(E'CREATE TYPE %s AS (\\n  %s\\n);', c.relname,
      string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), E',\\n  ' order by a.attnum)
    )
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'c' and not a.attisdropped
  group by c.relname
  order by typname`;

const TABLES = `
  select concat_ws(E'\\n',
    format(E'CREATE %sTABLE %s (\\n  %s\\n)%s%s;',
      case when c.relpersistence = 'u' then 'UNLOGGED ' end,
      c.relname,
      concat_ws(E',\\n  ', columns.lines, constraints.lines),
      ' WITH (' || array_to_string(c.reloptions, ', ') || ')',
      case when c.relkind = 'p' then ' PARTITION BY ' || pg_get_partkeydef(c.oid) end
    ),
    comments.lines, indexes.lines, triggers.lines
  ) as block
  from pg_class c
  cross join lateral (
    select string_agg(
      concat_ws(' ',
        a.attname, format_type(a.atttypid, a.atttypmod),
        case when a.attidentity = 'a' then 'GENERATED ALWAYS AS IDENTITY' end,
        case a.attgenerated when 's' then 'GENERATED ALWAYS AS (' || value || ') STORED' else 'DEFAULT ' || value end,
        case when a.attnotnull then 'NOT NULL' end
      ),
      E',\\n  ' order by a.attnum
    ) as lines
    from pg_attribute a
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    cross join lateral pg_get_expr(d.adbin, d.adrelid, true) as value
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ) as columns
  cross join lateral (
    select string_agg(
      'CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid, true), E',\\n  ' order by conname
    ) as lines
    from pg_constraint
    -- PostgreSQL 18 also lists NOT NULL here
    where conrelid = c.oid and contype in ('p', 'u', 'c', 'f', 'x')
  ) as constraints
  cross join lateral (
    select string_agg(
      format(
        'COMMENT ON %s IS %L;', coalesce('COLUMN ' || c.relname || '.' || a.attname, 'TABLE ' || c.relname), d.description
      ),
      E'\\n' order by d.objsubid
    ) as lines
    from pg_description d
    left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and d.objsubid > 0
    where d.classoid = 'pg_class'::regclass and d.objoid = c.oid
  ) as comments
  cross join lateral (
    select string_agg(pg_get_indexdef(i.indexrelid, 0, true) || ';', E'\\n' order by named.relname) as lines
    from pg_index i
    join pg_class named on named.oid = i.indexrelid
    where i.indrelid = c.oid
      and not exists (select from pg_constraint where conindid = i.indexrelid and contype in ('p', 'u', 'x'))
  ) as indexes
  cross join lateral (
    select string_agg(pg_get_triggerdef(t.oid, true) || ';', E'\\n' order by t.tgname) as lines
    from pg_trigger t
    where t.tgrelid = c.oid and not t.tgisinternal
  ) as triggers
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname`;

/** Without their queries, which PostgreSQL 15 and 16 print differently. */
const VIEWS = `
  select format('-- VIEW %s (%s)', c.relname,
      string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
    ) as block
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'v'
  group by c.relname
  order by c.relname`;

/** The signatures that processes of the release before may still call. */
const FUNCTIONS = `
  select format(
      '-- FUNCTION %s(%s) RETURNS %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid)
    ) as block
  from pg_proc
  where pronamespace = 'public'::regnamespace
  order by proname, pg_get_function_arguments(oid) collate "C"`;

/** Returns a database's types, tables, views and function signatures as text, the same on every supported PostgreSQL. */
export async function describeSchema(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const read = async (query: string) => (await client.query<{ block: string }>(query)).rows.map(({ block }) => block);
    const signatures = [...(await read(VIEWS)), ...(await read(FUNCTIONS))].join("\n");
    return [HEAD, ...(await read(TYPES)), ...(await read(TABLES)), signatures].join("\n\n") + "\n";
  } finally {
    await client.end();
  }
}
