import { describe, expect, test } from "@jest/globals";
import { readConfig } from "../../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey } from "../../../lib/process/keys.js";
import { readRedisUrl } from "../../../lib/process/redis-address.js";

const keys = { SIGNING_KEYS: newSigningKey(), CREDENTIALS_KEYS: newCredentialsKey() };
const plain = { db: 0, credentials: {}, sentinelCredentials: {}, tls: false };

describe("REDIS_URL", () => {
  test.each([
    ["redis://host", { form: "server", hosts: [{ host: "host", port: 6379 }] }],
    ["redis://host:7000/2", { form: "server", hosts: [{ host: "host", port: 7000 }], db: 2 }],
    ["redis://[::1]:7000", { form: "server", hosts: [{ host: "::1", port: 7000 }] }],
    [
      "redis://:p%40ss@host",
      { form: "server", hosts: [{ host: "host", port: 6379 }], credentials: { password: "p@ss" } },
    ],
    [
      "redis+cluster://app:secret@one:7000,two,[::1]:7001",
      {
        form: "cluster",
        hosts: [
          { host: "one", port: 7000 },
          { host: "two", port: 6379 },
          { host: "::1", port: 7001 },
        ],
        credentials: { username: "app", password: "secret" },
      },
    ],
    [
      "redis+sentinel://:secret@one,two:27000/jobs/3?sentinel_username=watch&sentinel_password=p%40ss",
      {
        form: "sentinel",
        hosts: [
          { host: "one", port: 26379 },
          { host: "two", port: 27000 },
        ],
        name: "jobs",
        db: 3,
        credentials: { password: "secret" },
        sentinelCredentials: { sentinelUsername: "watch", sentinelPassword: "p@ss" },
      },
    ],
  ])("%s", (text, expected) => {
    expect(readRedisUrl(text)).toEqual({ ...plain, ...expected });
  });

  test("of a list over TLS is checked by the name of each host, of one host by its own", () => {
    expect(readRedisUrl("rediss://host?sslmode=require").tls).toEqual({
      rejectUnauthorized: false,
      servername: "host",
    });
    for (const address of ["rediss+cluster://one,two", "rediss+sentinel://one,two/jobs"]) {
      expect(readRedisUrl(`${address}?sslmode=require`).tls).toEqual({ rejectUnauthorized: false });
      expect(readRedisUrl(address).tls).toMatchObject({ rejectUnauthorized: true });
    }
  });

  const words =
    "must be an address such as redis://host:6379 or redis+cluster://host1:6379,host2:6379 or redis+sentinel://host1:26379,host2:26379/name";
  test.each([
    ["host:6379", words],
    ["http://host", words],
    ["redis://", words],
    ["redis+ring://one,two", words],
    ["redis+cluster://one,,two", words],
    ["redis+cluster://one:port,two", words],
    ["redis://one,two", "names several hosts: begin it with redis+cluster: or redis+sentinel:"],
    ["redis://host/jobs", "must name its database by a number, as /1"],
    ["redis+cluster://one,two/1", "must not name a database: a cluster has only database 0"],
    ["redis+sentinel://one,two", "must end with the name that the sentinels know the master by, such as /mymaster"],
    ["redis+sentinel://one,two/jobs/x", "must name its database by a number, as /1"],
    [
      "redis+cluster://one,two?sentinel_password=hunter2",
      "has a password for sentinels and none of them: begin it with redis+sentinel:",
    ],
    ["redis://host?maxmemory=hunter2", "has parameters that are unknown: maxmemory"],
    ["redis+cluster://one,two?sslmode=require", "must begin with rediss: to be encrypted"],
    ["redis://localhost?sslmode=require", "must begin with rediss: to be encrypted"],
    ["rediss://localhost?sslmode=disable", "must begin with redis: to be unencrypted"],
  ])("%s is refused in one line", (REDIS_URL, expected) => {
    const read = () => readConfig({ ...keys, DATABASE_URL: "postgres://localhost/name", REDIS_URL });
    expect(read).toThrow(`Wrong configuration: REDIS_URL ${expected}`);
    expect(read).not.toThrow("hunter2");
  });
});
