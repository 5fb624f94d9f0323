import { execFile, spawn } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import pg from "pg";
import type { Bakery, Character } from "../support/cast.js";
import { describeWithOpenssl, makeCertificates, present } from "../support/certificates.js";
import { compiled } from "../support/compiled.js";
import { describeWithPgDump, startInstalledPostgres, type InstalledPostgres } from "../support/installed-postgres.js";
import { ended } from "../support/processes.js";
import { runScript } from "../support/run-script.js";
import { standIns, type StandIns } from "../support/stand-in-programs.js";
import { until } from "../support/until.js";

describeWithPgDump("the restore drill", () => {
  let server: InstalledPostgres;
  let made: StandIns;
  let stopApi: () => Promise<void>;
  let closeDatabase: () => Promise<void>;
  let cast: typeof import("../support/cast.js");
  let shop: Bakery;
  let customer: Character;

  beforeAll(async () => {
    server = await startInstalledPostgres();
    process.env["DATABASE_URL"] = server.url;
    expect(await runScript("migrate")).toMatchObject({ code: 0 });
    ({ closeDatabase } = await import("../../sql/db.js"));
    cast = await import("../support/cast.js");
    const { startApi } = await import("../support/api.js");
    const { client, stop } = await startApi();
    stopApi = stop;
    shop = await cast.bakery(client);
    customer = await cast.user(client);
    await order();
  });

  afterAll(async () => {
    await stopApi();
    await closeDatabase();
    await server.stop();
  });

  beforeEach(async () => {
    made = await standIns({});
  });
  afterEach(() => made.remove());

  async function order(): Promise<void> {
    const boxId = await cast.listBox(shop, { price: 249.9 });
    const reply = await customer.client.post("/api/v1/orders", newOrder(boxId));
    expect(reply.status).toBe(201);
  }

  const newOrder = (menuItemId: string) => ({
    items: [{ menuItemId, qty: 2 }],
    totalAmount: 499.8,
    partnerId: shop.id,
  });

  async function ask<Row extends pg.QueryResultRow>(text: string, url = server.url): Promise<Row[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end();
    }
  }

  const databases = async () =>
    (await ask<{ datname: string }>("select datname from pg_database order by 1")).map(({ datname }) => datname);

  /** The environment of a drill, with these programs before the server's own; it writes only in this folder. */
  async function environment(scripts: Record<string, string> = {}): Promise<NodeJS.ProcessEnv> {
    await made.remove();
    made = await standIns(scripts, `${server.programs}:/usr/bin:/bin`);
    await mkdir(join(made.folder, "tmp"));
    return { PATH: made.path, TMPDIR: join(made.folder, "tmp") };
  }

  /** The server's own program with a statement before or after it, in the database that it is run on. */
  const meddling = (program: string, statement: string, when: "before" | "after") => {
    const itself = `"${server.programs}/${program}" "$@"`;
    const meddle = `"${server.programs}/psql" -q -v ON_ERROR_STOP=1 "$database" -c "${statement}"`;
    return `
      [ "$1" = --version ] && exec ${itself}
      for each in "$@"; do case "$each" in --dbname=*) database="\${each#--dbname=}";; esac; done
      ${when === "before" ? `${meddle} && ${itself}` : `${itself} && ${meddle}`}`;
  };

  test("restores everything, reports it, and keeps a dump from which another database can be restored", async () => {
    const before = await databases();
    const env = await environment();
    const file = join(made.folder, "backup.dump");
    await writeFile(file, "an older backup");
    const { code, output } = await runScript("restore-drill/main", [file], env);
    expect(output).toMatch(/^users +2$/m);
    expect(output).toMatch(/^boxes +1 +.*\bprice_minor 24,990\b/m);
    expect(output).toMatch(/^orders +1 +.*\btotal_minor 49,980\b/m);
    expect(output).toMatch(/\nThe copy equals the original: \d+ tables with [\d,]+ rows, [^\n]+\n/);
    expect(output).toContain(`\nIts schema is that of this release.\nThe dump is kept in ${file}.\n`);
    expect(code).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(made.folder)).toEqual(["backup.dump", "tmp"]);
    expect((await readdir(join(made.folder, "tmp"))).filter((name) => name.startsWith("surplus"))).toEqual([]);
    expect(await databases()).toEqual(before);

    await ask("create database restored");
    const restored = Object.assign(new URL(server.url), { pathname: "/restored" }).href;
    await promisify(execFile)(join(server.programs, "pg_restore"), ["--no-owner", "-d", restored, file]);
    const staged = "select * from staged_jobs where done_at is null order by id";
    const jobs = await ask(staged);
    expect(jobs).not.toEqual([]);
    expect(await ask(staged, restored)).toEqual(jobs);

    const { prepareService } = await import("../support/programs.js");
    const { api, client } = await prepareService({ DATABASE_URL: restored });
    await api.start();
    try {
      const path = `/api/v1/partners/${shop.id}`;
      const answer = await client.get(path);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual((await customer.client.get(path)).body);
      // sequences continue where they were
      const boxes = await client.get(`/api/v1/boxes/by-partner/${shop.id}`);
      const again = await client
        .as(customer.client.token)
        .post("/api/v1/orders", newOrder(String(boxes.list[0]?.["id"])));
      expect(again.status).toBe(201);
      expect((await ask(staged, restored)).length).toBeGreaterThan(jobs.length);
    } finally {
      await api.kill();
    }
  });

  test("leaves out on both sides what is written meanwhile, and ignores an error that did no harm", async () => {
    const sale =
      "update boxes set price_minor = price_minor + 1; insert into cities (id, name, timezone) values ('new', 'New', 'UTC')";
    const env = await environment({
      pg_dump: meddling("pg_dump", sale, "before"),
      // as a later version does, for a parameter that the server does not know
      pg_restore: `"${server.programs}/pg_restore" "$@" && { [ "$1" = --version ] || { echo "not known" >&2; exit 1; }; }`,
    });
    const [{ cities } = { cities: 0 }] = await ask<{ cities: number }>(
      "select count(*)::integer as cities from cities",
    );
    const { code, output } = await runScript("restore-drill/main", [], env);
    expect(output).toMatch(new RegExp(`^cities +${cities}$`, "m"));
    expect(output).toContain("\nThe copy is complete, although pg_restore failed: not known\n");
    expect(code).toBe(0);
    expect(await ask("select from cities")).toHaveLength(cities + 1);
  });

  test("names every difference, keeps no dump, and leaves an older backup untouched", async () => {
    const mischief = [
      "delete from order_events where ctid = (select min(ctid) from order_events)",
      "update boxes set price_minor = price_minor + 1",
      "update users set first_name = 'Another' where ctid = (select min(ctid) from users)",
      "alter table boxes drop constraint boxes_partner_id_fkey",
      "alter table reviews add constraint unchecked check (rating < 5) not valid",
      "drop function place_order",
    ].join("; ");
    const env = await environment({ pg_restore: meddling("pg_restore", mischief, "after") });
    const file = join(made.folder, "backup.dump");
    await writeFile(file, "an older backup");
    const before = await databases();
    const { code, output } = await runScript("restore-drill/main", [file], env);
    expect(code).toBe(1);
    expect(output).not.toContain("What was restored is what was dumped");
    for (const line of [
      /^public\.order_events: \d+ rows were dumped, \d+ restored$/m,
      /^public\.boxes: the sum of price_minor was \d+, and is \d+ now$/m,
      /^public\.users: the number of rows is the same, but their contents differ$/m,
      /^constraint boxes_partner_id_fkey of public\.boxes was not restored$/m,
      /^constraint unchecked of public\.reviews was not dumped$/m,
      /^constraint unchecked of public\.reviews is not valid$/m,
      /^function public\.place_order\(.* was not restored$/m,
    ]) {
      expect(output).toMatch(line);
    }
    expect(await readFile(file, "utf8")).toBe("an older backup");
    expect((await readdir(made.folder)).toSorted()).toEqual(["backup.dump", "pg_restore", "tmp"]);
    expect(await databases()).toEqual(before);
  });

  test("removes the copy when it is stopped", async () => {
    const waits = `[ "$1" = --version ] && exec "${server.programs}/pg_dump" "$@"; exec sleep 600`;
    const env = await environment({ pg_dump: waits });
    const before = await databases();
    const child = spawn(process.execPath, [compiled("scripts/restore-drill/main.ts")], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let complaint = "";
    child.stderr.on("data", (text: Buffer) => (complaint += text.toString()));
    await until(async () => (await databases()).length > before.length);
    child.kill("SIGINT");
    expect(await ended(child)).toEqual({ code: 1, signal: null });
    expect(complaint).toBe("The drill was stopped.\n");
    expect(await databases()).toEqual(before);
  });

  describeWithOpenssl("over TLS", () => {
    test("checks the server as Node.js does, by the authorities that NODE_EXTRA_CA_CERTS adds", async () => {
      const { authority, right } = await makeCertificates();
      await present(ask, right);
      const env = await environment();
      for (const parameters of ["sslmode=verify-full", "sslmode=verify-full&sslrootcert=system"]) {
        const given = { ...env, DATABASE_URL: `${server.url}?${parameters}`, NODE_EXTRA_CA_CERTS: authority };
        const { code, output } = await runScript("restore-drill/main", [], given);
        expect(output).toContain("\nThe copy equals the original: ");
        expect(code).toBe(0);
      }
    });
  });
});
