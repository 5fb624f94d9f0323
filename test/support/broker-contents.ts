import { Redis } from "ioredis";
import pg from "pg";

/** All data of BullMQ in Redis, as text. */
export async function redisContents(url: string): Promise<string> {
  const redis = new Redis(url);
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, "0", "-1"),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, "0", "-1"),
    stream: (key) => redis.xrange(key, "-", "+"),
  };
  try {
    const keys = await redis.keys("*");
    const entries = await Promise.all(keys.map(async (key) => [key, await read[await redis.type(key)]?.(key)]));
    return JSON.stringify(entries);
  } finally {
    redis.disconnect();
  }
}

/** Every job in the outbox and in BullMQ's own tables, as text. */
export async function postgresContents(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
         and (table_schema <> 'public' or table_name = 'staged_jobs')`,
    );
    const texts: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ text: string }>(`select t::text as text from ${name} t`);
      texts.push(name, ...rows.map(({ text }) => text));
    }
    return texts.join("\n");
  } finally {
    await client.end();
  }
}
