import { randomBytes } from "node:crypto";
import pg from "pg";

/** The role that the service uses: it owns its database and may make others, such as for a restore drill. */
const ROLE = "surplus_food";

/** Statements that give what a superuser has made in the connected database to the role. The public schema is the database owner's. */
const HANDOVERS = `
  select format('alter schema %I owner to ${ROLE}', nspname) as statement
  from pg_namespace
  where nspowner = current_user::regrole and nspname !~ '^pg_' and nspname not in ('information_schema', 'public')
  union all
  -- sequences of columns follow their tables, and row types their relations
  select format('alter table %I.%I owner to ${ROLE}', n.nspname, c.relname)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relowner = current_user::regrole and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    and c.relkind in ('r', 'p', 'v', 'm', 'S')
    and not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and c.relkind = 'S' and d.deptype in ('a', 'i')
    )
  union all
  select format('alter routine %I.%I(%s) owner to ${ROLE}', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  where p.proowner = current_user::regrole and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  union all
  select format('alter type %I.%I owner to ${ROLE}', n.nspname, t.typname)
  from pg_type t
  join pg_namespace n on n.oid = t.typnamespace
  left join pg_class c on c.oid = t.typrelid
  where t.typowner = current_user::regrole and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    and (t.typtype in ('e', 'd', 'r') or c.relkind = 'c')`;

/**
 * Makes an ordinary role the owner of a superuser's database and of everything in it, also of what earlier versions made as
 * superuser. Returns the role's connection string, with a password that is valid until the next call.
 */
export async function giveToService(superuserUrl: string): Promise<string> {
  const password = randomBytes(24).toString("hex");
  const superuser = new pg.Client({ connectionString: superuserUrl });
  await superuser.connect();
  try {
    await superuser.query("begin");
    const { rowCount } = await superuser.query("select from pg_roles where rolname = $1", [ROLE]);
    await superuser.query(`${rowCount === 0 ? "create" : "alter"} role ${ROLE} login createdb password '${password}'`);
    const { rows } = await superuser.query<{ statement: string }>(HANDOVERS);
    const database = superuser.escapeIdentifier(superuser.database ?? "");
    for (const statement of [`alter database ${database} owner to ${ROLE}`, ...rows.map((row) => row.statement)])
      await superuser.query(statement);
    await superuser.query("commit");
  } finally {
    await superuser.end();
  }
  return Object.assign(new URL(superuserUrl), { username: ROLE, password }).href;
}
