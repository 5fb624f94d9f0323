import pg from "pg";
import { migrate } from "../../sql/migrate.js";

/** Makes an empty database of the service beside the others, in place of one with this name; answers its address. */
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
