import { expect, test } from "@jest/globals";
import { readConfig } from "../../../lib/process/read-config.js";
import { newCredentialsKey, newSigningKey } from "../../../lib/process/keys.js";
import { pgOptions, readDatabaseUrl, readServers } from "../../../lib/process/server-address.js";

const keys = { SIGNING_KEYS: newSigningKey(), CREDENTIALS_KEYS: newCredentialsKey() };

test.each([
  ["sslmode=prefer", "must have one of the sslmodes disable, no-verify, require, verify-ca, verify-full"],
  ["ssl=true", "must say how to encrypt with sslmode, and without ssl, "],
  ["sslmode=verify-ca", "has verify-ca without sslrootcert"],
  ["sslmode=verify-ca&sslrootcert=system", "has sslrootcert=system, which needs sslmode=verify-full"],
  ["sslrootcert=/etc/hosts", "has a certificate and no sslmode"],
  ["sslmode=verify-full&sslrootcert=/no/such.pem", "names a file in sslrootcert that cannot be read (ENOENT)"],
  ["sslmode=require&sslcert=/etc/hosts", "needs both of sslcert and sslkey"],
  ["sslmode=require&channel_binding=require", "has channel_binding=require, which is not supported"],
])("a DATABASE_URL with %s stops the process in one line", (parameters, words) => {
  const read = () => readConfig({ ...keys, DATABASE_URL: `postgres://user:hunter2@localhost/name?${parameters}` });
  expect(read).toThrow(`Wrong configuration: DATABASE_URL ${words}`);
  expect(read).not.toThrow("hunter2");
});

test.each([
  ["one,,two/name", "has a comma and no server beside it"],
  ["one,two,/name", "has a comma and no server beside it"],
  ["one:5432,two:port/name", "must be an address such as postgres://user:password@host:5432/name"],
  ["one/name?host=one,two", "must name several servers as in postgres://user@one:5432,two:5432/name"],
  ["one,two/name?target_session_attrs=any", "may have target_session_attrs=read-write or primary only"],
  ["one,two/name?sslmode=prefer", "must have one of the sslmodes disable,"],
])("a DATABASE_URL of several servers, %s, stops the process in one line when it is wrong", (rest, words) => {
  const read = () => readConfig({ ...keys, DATABASE_URL: `postgres://user:hunter2@${rest}` });
  expect(read).toThrow(`Wrong configuration: DATABASE_URL ${words}`);
  expect(read).not.toThrow("hunter2");
});

test("each of several servers has the same user, database and parameters, and a certificate of its own name", () => {
  const address = "postgres://user:p%40ss@one:5432,[::1]:5433,two/name?sslmode=require&target_session_attrs=primary";
  expect(readServers(address)).toEqual(
    ["one:5432", "[::1]:5433", "two"].map((host) => ({
      url: `postgres://user:p%40ss@${host}/name`,
      tls: { rejectUnauthorized: false, ...(!host.startsWith("[") && { servername: host.replace(/:.*/, "") }) },
    })),
  );
});

test("libraries get an address without the parameters, and all else as it was given", () => {
  const plain = "postgres://user:p%40ss@host:5432/name?options=-c%20search_path%3Dx";
  expect(readDatabaseUrl(plain)).toEqual({ url: plain, tls: false });
  const { url, tls } = readDatabaseUrl("postgres://host/name?sslmode=require&application_name=us");
  expect(url).toBe("postgres://host/name?application_name=us");
  expect(tls).toEqual({ rejectUnauthorized: false, servername: "host" });
});

test("each client of pg gets an object of its own, in which it may hide the key", () => {
  const address = readDatabaseUrl("postgres://host/name?sslmode=require&sslcert=/dev/null&sslkey=/dev/null");
  Object.defineProperty(pgOptions(address).ssl, "key", { enumerable: false });
  expect(Object.keys(address.tls)).toContain("key");
});
