import { execFile, spawnSync } from "node:child_process";
import { chown, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe } from "@jest/globals";
import type pg from "pg";
import { scratchFolder } from "./scratch.js";
import { until } from "./until.js";

const opensslAvailable = spawnSync("openssl", ["version"]).status === 0;

/** A suite that makes certificates; without OpenSSL it is reported as skipped. */
export const describeWithOpenssl: (name: string, suite: () => void) => void = (name, suite) =>
  opensslAvailable ? describe(name, suite) : describe.skip(`${name} (no openssl on the PATH)`, suite);

/** A server's certificate and its private key, as PEM. */
export interface Certificate {
  certificate: string;
  key: string;
}

/** An authority of this test, and the certificates of servers on this machine. */
export interface Certificates {
  /** The file with the authority's certificate. */
  authority: string;
  /** In the names of localhost and 127.0.0.1. */
  right: Certificate;
  expired: Certificate;
  /** In the name of localhost only: it is not for 127.0.0.1. */
  otherHost: Certificate;
  /** Of another authority. */
  otherAuthority: Certificate;
}

const CONFIGURATION = `
[ca]
default_ca = authority
[authority]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = policy
unique_subject = no
[policy]
commonName = supplied
`;

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

async function startAuthority() {
  const folder = await scratchFolder("authority");
  const openssl = (...args: string[]) => promisify(execFile)("openssl", args, { cwd: folder });
  await Promise.all([writeFile(join(folder, "index"), ""), writeFile(join(folder, "configuration"), CONFIGURATION)]);
  await openssl("req", "-x509", ...newKey, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=authority");

  /** Makes a certificate in these names that is valid in these years. */
  async function issue(names: string, from: number, until: number): Promise<Certificate> {
    await writeFile(join(folder, "names"), `subjectAltName = ${names}`);
    await openssl("req", ...newKey, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server");
    const dates = ["-startdate", `${from}0101000000Z`, "-enddate", `${until}0101000000Z`];
    const files = ["-in", "server.csr", "-cert", "ca.crt", "-keyfile", "ca.key", "-extfile", "names"];
    await openssl("ca", "-batch", "-notext", "-config", "configuration", ...files, ...dates, "-out", "server.crt");
    const read = (name: string) => readFile(join(folder, name), "utf8");
    return { certificate: await read("server.crt"), key: await read("server.key") };
  }

  return { file: join(folder, "ca.crt"), issue };
}

export async function makeCertificates(): Promise<Certificates> {
  const [one, other] = await Promise.all([startAuthority(), startAuthority()]);
  const both = "DNS:localhost, IP:127.0.0.1";
  return {
    authority: one.file,
    right: await one.issue(both, 2020, 2040),
    expired: await one.issue(both, 2020, 2021),
    otherHost: await one.issue("DNS:localhost", 2020, 2040),
    otherAuthority: await other.issue(both, 2020, 2040),
  };
}

type Ask = <Row extends pg.QueryResultRow>(text: string) => Promise<Row[]>;

/** Makes new connections to the Postgres that `ask` queries get this certificate. */
export async function present(ask: Ask, { certificate, key }: Certificate): Promise<void> {
  const [settings] = await ask<{ folder: string; loaded: string }>(
    "select current_setting('data_directory') as folder, pg_conf_load_time()::text as loaded",
  );
  const folder = settings?.folder ?? "";
  const { uid, gid } = await stat(folder);
  for (const [name, pem] of Object.entries({ "server.crt": certificate, "server.key": key })) {
    await writeFile(join(folder, name), pem, { mode: 0o600 });
    await chown(join(folder, name), uid, gid);
  }
  await ask("alter system set ssl = on");
  await ask("select pg_reload_conf()");
  await until(async () => {
    const [now] = await ask<{ loaded: string; ssl: string }>(
      "select pg_conf_load_time()::text as loaded, current_setting('ssl') as ssl",
    );
    return now?.ssl === "on" && now.loaded !== settings?.loaded;
  });
}
