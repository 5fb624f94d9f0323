import { expect, test } from "@jest/globals";
import pg from "pg";
import { giveToService } from "../../scripts/service-role.js";
import { migrate } from "../../sql/migrate.js";
import { startOwnPostgres } from "../support/own-postgres.js";

async function as<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

test("the service is no superuser, and owns all of its database, also what it made as one before", async () => {
  const server = await startOwnPostgres();
  try {
    await migrate(server.url);
    await as(server.url, async (superuser) => {
      await superuser.query("create schema elsewhere; create table elsewhere.kept (id serial, at timestamptz)");
      await superuser.query("create domain elsewhere.word as text; create sequence elsewhere.numbers");
    });
    const former = await giveToService(server.url);
    const url = await giveToService(server.url);
    await expect(as(former, (client) => client.query("select"))).rejects.toThrow("password authentication failed");

    const { rows } = await as(url, (client) =>
      client.query("select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user"),
    );
    expect(rows).toEqual([{ rolsuper: false, rolcreaterole: false, rolcreatedb: true }]);
    const held = await server.ask(`
      with own as (
        select oid as schema, nspowner as owner, nspname as name from pg_namespace where nspname <> 'public'
        union all select relnamespace, relowner, relname from pg_class
        union all select pronamespace, proowner, proname from pg_proc
        union all select typnamespace, typowner, typname from pg_type
      )
      select name from own
      where schema::regnamespace::text in ('public', 'elsewhere') and owner <> 'surplus_food'::regrole`);
    expect(held).toEqual([]);

    // functions are replaced, and a table is changed as a migration would
    await migrate(url);
    await as(url, async (client) => {
      await client.query("alter table users add note text; drop schema elsewhere cascade");
      await client.query("create database of_a_drill");
    });
  } finally {
    await server.stop();
  }
});
