import type { Db } from "../db.js";

/** Records that the process `name` is alive now. */
export const updateHeartbeat = (db: Db, name: string) =>
  db`
    insert into heartbeats (name, beat_at)
    values (${name}, now())
    on conflict (name) do update set beat_at = excluded.beat_at`;

/** Finds the seconds since the last heartbeat of `name`; undefined without one. */
export async function findHeartbeatAge(db: Db, name: string): Promise<number | undefined> {
  const [row] = await db<{ age: number }[]>`
    select coalesce(extract(epoch from now() - beat_at)::double precision, 0) as age
    from heartbeats
    where name = ${name}`;
  return row?.age;
}
