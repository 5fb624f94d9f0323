import pg from "pg";
import { migrate } from "../../sql/migrate.js";

/** Creates and migrates an empty database on the same server, replacing one of this name; returns its address. */
export async function makeDatabase(databaseUrl: string, name: string): Promise<string> {
  const url = Object.assign(new URL(databaseUrl), { pathname: `/${name}` }).href;
  const admin = new pg.Client({ connectionString: databaseUrl });
  await admin.connect();
  await admin.query(`drop database if exists ${name} with (force)`);
  await admin.query(`create database ${name}`);
  await admin.end();
  await migrate(url);
  return url;
}
