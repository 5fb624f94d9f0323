import { spawn } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import postgres from "postgres";
import { pgOptions, readDatabaseUrl } from "../../../lib/process/server-address.js";
import { describeWithOpenssl, makeCertificates, present, type Certificates } from "../../support/certificates.js";
import { compiled } from "../../support/compiled.js";
import { startOwnPostgres, type OwnPostgres } from "../../support/own-postgres.js";
import { ended } from "../../support/processes.js";
import { runScript } from "../../support/run-script.js";
import { until } from "../../support/until.js";

let server: OwnPostgres;
let certificates: Certificates;

beforeAll(async () => {
  [server, certificates] = await Promise.all([startOwnPostgres(), makeCertificates()]);
});
afterAll(() => server.stop());

/** The server's address with these parameters; `{ca}` stands for the authority's file. */
const addressWith = (parameters: string) =>
  `${server.url}?${parameters.replace("{ca}", encodeURIComponent(certificates.authority))}`;

const QUESTION = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";

type Outcome = "encrypted" | "plain" | "refused";
const outcomeOf = (ssl: unknown): Outcome => (ssl === true ? "encrypted" : "plain");

async function withPg(url: string): Promise<Outcome> {
  const client = new pg.Client(pgOptions(readDatabaseUrl(url)));
  client.on("error", () => undefined);
  try {
    await client.connect();
    return outcomeOf((await client.query<{ ssl: boolean }>(QUESTION)).rows[0]?.ssl);
  } catch {
    return "refused";
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function withPostgres(address: string): Promise<Outcome> {
  const { url, tls } = readDatabaseUrl(address);
  const client = postgres(url, { ssl: tls, max: 1 });
  try {
    return outcomeOf((await client.unsafe<{ ssl: boolean }[]>(QUESTION))[0]?.ssl);
  } catch {
    return "refused";
  } finally {
    await client.end({ timeout: 0 });
  }
}

type Kind = Exclude<keyof Certificates, "authority">;
const kinds: Kind[] = ["right", "expired", "otherHost", "otherAuthority"];

const all: Record<Kind, Outcome> = {
  right: "encrypted",
  expired: "encrypted",
  otherHost: "encrypted",
  otherAuthority: "encrypted",
};
const chain: Record<Kind, Outcome> = { ...all, expired: "refused", otherAuthority: "refused" };
const none: Record<Kind, Outcome> = {
  right: "refused",
  expired: "refused",
  otherHost: "refused",
  otherAuthority: "refused",
};

describeWithOpenssl("pg and postgres.js understand the same by", () => {
  test.each<[string, Record<Kind, Outcome>]>([
    ["sslmode=disable", { right: "plain", expired: "plain", otherHost: "plain", otherAuthority: "plain" }],
    ["sslmode=no-verify", all],
    ["sslmode=no-verify&sslrootcert={ca}", all],
    ["sslmode=require", all],
    ["sslmode=require&uselibpqcompat=true", all],
    ["sslmode=require&sslrootcert={ca}", chain],
    ["sslmode=verify-ca&sslrootcert={ca}", chain],
    ["sslmode=verify-full&sslrootcert={ca}", { ...chain, otherHost: "refused" }],
    // no public authority knows these servers
    ["sslmode=verify-full", none],
    ["sslmode=verify-full&sslrootcert=system", none],
  ])("%s", async (parameters, expected) => {
    for (const kind of kinds) {
      await present(server.ask, certificates[kind]);
      const url = addressWith(parameters);
      expect([kind, await withPg(url), await withPostgres(url)]).toEqual([kind, expected[kind], expected[kind]]);
    }
  });
});

describeWithOpenssl("with a server that the address does not trust", () => {
  test("release says why, and the API runs and is not ready until it can", async () => {
    await present(server.ask, certificates.otherHost);
    const byAddress = addressWith("sslmode=verify-full&sslrootcert={ca}");
    const byName = byAddress.replace("127.0.0.1", "localhost");
    expect(await runScript("migrate", [], { DATABASE_URL: byAddress })).toEqual({
      code: 1,
      output: expect.stringMatching(/^Migration failed: DATABASE_URL cannot be used: .*certificate.*\n$/),
    });
    // each server is checked in its own name
    const byEither = byAddress.replace(
      /@([^/]+)/,
      (_all, host: string) => `@${host},${host.replace("127.0.0.1", "localhost")}`,
    );
    expect(await runScript("migrate", [], { DATABASE_URL: byEither })).toMatchObject({ code: 0 });

    for (const [DATABASE_URL, status, line] of [
      [byAddress, 503, "DATABASE_URL cannot be used"],
      [byName, 200, "the API is listening"],
      [byEither, 200, "the API is listening"],
    ] as const) {
      const api = spawn(process.execPath, [compiled("test/support/server.ts")], {
        env: { ...process.env, DATABASE_URL, HOST: "127.0.0.1", LOG_LEVEL: "info" },
        stdio: ["pipe", "pipe", "inherit"],
      });
      let output = "";
      api.stdout.on("data", (text: Buffer) => (output += text.toString()));
      try {
        const port = await until(() => /"port":(\d+)/.exec(output)?.[1]);
        await until(() => output.includes(line));
        for (const path of ["/readyz", "/api/v1/cities"])
          expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(status);
      } finally {
        api.kill("SIGKILL");
        await ended(api);
      }
    }
  });
});
