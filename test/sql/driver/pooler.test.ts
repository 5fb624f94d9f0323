import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { describeWithPgbouncer, keepsPrepared, startPgbouncer, type TestPooler } from "../../support/pgbouncer.js";
import { runScript } from "../../support/run-script.js";
import { sized } from "../../support/size.js";
import { until } from "../../support/until.js";

/** Fewer than the connections of the pools below, so that they take turns. */
const SESSIONS = 3;
const TIMEOUT_MS = 3_000;
const SEARCH_TIMEOUT_MS = 300;
/** How often everything is cut while clients are busy. */
const ROUNDS = sized(4, 2);

const directUrl = process.env["DATABASE_URL"] ?? "";

describeWithPgbouncer("through a pooler by transaction", () => {
  let pooler: TestPooler;
  let server: pg.Client;
  let database: typeof import("../../../sql/db.js");
  let signals: typeof import("../../../sql/signals.js");

  beforeAll(async () => {
    pooler = await startPgbouncer(directUrl, { sessions: SESSIONS });
    Object.assign(process.env, {
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: directUrl,
      DATABASE_PREPARE: keepsPrepared ? "1" : "0",
      DATABASE_POOL: "4",
      DATABASE_TIMEOUT_MS: String(TIMEOUT_MS),
      SEARCH_TIMEOUT_MS: String(SEARCH_TIMEOUT_MS),
    });
    server = new pg.Client({ connectionString: directUrl });
    await server.connect();
    expect(await runScript("migrate")).toMatchObject({ code: 0 });
    database = await import("../../../sql/db.js");
    signals = await import("../../../sql/signals.js");
  });

  afterAll(async () => {
    await signals.closeSignals();
    await database.closeDatabase();
    await server.end();
    await pooler.stop();
  });

  const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => new Error("it succeeded"),
      (error: unknown) => error,
    );

  const codeOf = (error: unknown): unknown => Reflect.get(Object(error), "code");

  /** Ends some of the pooler's sessions with the server. */
  const endSessions = async (most: number) => {
    await server.query(
      `select pg_terminate_backend(pid)
      from (
        select pid from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
        order by random() limit $1
      ) session`,
      [most],
    );
  };

  test("until migrate has set the timeouts, processes are not ready and say why", async () => {
    const { isReady, prepareService } = await import("../../support/programs.js");
    const service = await prepareService({ DATABASE_TIMEOUT_MS: String(TIMEOUT_MS) });
    const { api, workers, client } = service;
    /** Sessions keep what they began with. */
    const renewSessions = async () => {
      await pooler.kill();
      await pooler.restart();
    };
    const database = pg.escapeIdentifier(new URL(directUrl).pathname.slice(1));
    for (const name of ["statement_timeout", "idle_in_transaction_session_timeout", "client_min_messages"])
      await server.query(`alter role current_user in database ${database} reset ${name}`);
    await renewSessions();
    try {
      await api.start();
      const started = workers[0].start();
      const why = expect.stringMatching(
        /through the pooler statement_timeout is 0, .*: alter role \S+ in database \S+ set statement_timeout = 3000; /,
      );
      for (const [program, does] of [
        [api, "is not ready"],
        [workers[0], "runs no jobs"],
      ] as const) {
        const line = await until(() => program.lines.find(({ msg }) => msg.startsWith("DATABASE_URL cannot be used")));
        expect(line).toMatchObject({
          msg: `DATABASE_URL cannot be used: this process ${does} until it can`,
          error: why,
        });
      }
      expect(await isReady(client.url)).toBe(false);

      expect(await runScript("migrate")).toMatchObject({ code: 0 });
      await renewSessions();
      await started;
      await until(() => isReady(client.url));
    } finally {
      await service.stop();
    }
  });

  test("the server ends a statement in time, and a search sooner, which changes no other", async () => {
    const began = performance.now();
    const [statement, search, others] = await Promise.all([
      reasonOf(database.sql`select pg_sleep(60)`),
      reasonOf(database.searchesOf("anyone", 1)`select pg_sleep(${2}::integer)`).finally(() =>
        expect(performance.now() - began).toBeLessThan(TIMEOUT_MS),
      ),
      Promise.all(
        Array.from(
          { length: 20 },
          () => database.sql<{ timeout: string }[]>`select current_setting('statement_timeout') as timeout`,
        ),
      ),
    ]);
    expect([statement, search].map((error) => [database.faultOf(error), codeOf(error)])).toEqual([
      ["timeout", "57014"],
      ["timeout", "57014"],
    ]);
    expect(new Set(others.map(([row]) => row?.timeout))).toEqual(new Set(["3s"]));
    const { rows } = await server.query(
      "select from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'",
    );
    expect(rows).toEqual([]);
    expect(await database.searchesOf("anyone", 1)`select current_setting('statement_timeout') as timeout`).toEqual([
      { timeout: "300ms" },
    ]);
  });

  test("a pause in a transaction ends it in time, on the server too", async () => {
    const work = database.transaction(async (tx) => {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await until(async () => {
        const { rows } = await server.query("select from pg_stat_activity where pid = $1", [row?.pid]);
        return rows.length === 0;
      });
      await tx`select`;
    });
    expect(["timeout", "unreachable"]).toContain(database.faultOf(await reasonOf(work)));
  });

  test("a staged job wakes the relays, and a signal arrives", async () => {
    const heard = { due: 0, image: 0 };
    signals.onLedSignal(database.jobsDue, () => (heard.due += 1));
    signals.onSignal("image 1", () => (heard.image += 1));
    await until(async () => {
      await signals.signal(database.sql, "image", "1");
      return heard.image > 0;
    });
    const before = heard.due;
    await database.sql`select wake_relays(now())`;
    await until(() => heard.due > before);
    const then = heard.due;
    await database.transaction((tx) => tx`select wake_relays(now())`);
    await until(() => heard.due > then);
  });

  test("whatever is cut, no answer reaches another statement, and a transaction happens whole or not at all", async () => {
    await server.query("create table steps (number integer, step integer, primary key (number, step))");
    const { sql, lookups, searchesOf, transaction, faultOf } = database;
    const first = async (rows: Promise<readonly { number: number }[]>) => (await rows)[0]?.number;
    const divided = async (work: Promise<unknown>, number: number) =>
      codeOf(await reasonOf(work)) === "22012" ? number : reject(await reasonOf(work));
    const reject = (error: unknown): never => {
      throw error;
    };
    /** Statements of every form: with parameters and without, that fail, that take a while, in transactions. */
    const kinds: readonly ((number: number) => Promise<number | undefined>)[] = [
      (number) => first(sql`select ${number}::integer as number`),
      (number) => first(lookups`select ${String(number)}::integer as number, ${new Date()}::timestamptz as at`),
      (number) => first(sql`select ${number}::integer as number from pg_sleep(0.005)`),
      (number) => first(searchesOf("anyone", 1)`select ${number}::integer as number`),
      (number) => divided(sql`select 1 / (${number}::integer - ${number}::integer)`, number),
      (number) => divided(searchesOf("anyone", 1)`select ${number}::integer / 0`, number),
      async (number) => ((await sql`select`).length === 1 ? number : undefined),
      (number) => first(sql`insert into steps values (${number}, 0) returning number`),
      (number) =>
        transaction(async (tx) => {
          await tx`insert into steps values (${number}, 1)`;
          const answer = await first(tx`select ${number}::integer as number`);
          await tx`insert into steps values (${number}, 2)`;
          return answer;
        }),
    ];
    const answered = new Map(kinds.map((kind) => [kind, new Set<number>()]));
    const wrong: unknown[] = [];
    let lost = 0;
    let last = 0;
    let ended = false;
    const client = async (start: number) => {
      for (let turn = start; !ended; turn += 1) {
        const kind = kinds[turn % kinds.length];
        if (!kind) throw new Error("there is no such kind");
        const number = (last += 1);
        try {
          const answer = await kind(number);
          if (answer === number) answered.get(kind)?.add(number);
          else wrong.push({ number, answer, kind: turn % kinds.length });
        } catch (error) {
          lost += 1;
          // on a busy machine a search reaches its time limit
          const isLate = codeOf(error) === "57014";
          if (!isLate && !["unreachable", "overloaded"].includes(faultOf(error) ?? "")) wrong.push({ number, error });
        }
      }
    };
    const clients = Array.from({ length: 60 }, (_, start) => client(start));
    const answersSoFar = () => Math.min(...[...answered.values()].map(({ size }) => size));
    const restartPooler = async () => {
      await pooler.kill();
      await pooler.restart();
    };
    for (const cut of Array.from({ length: ROUNDS }, () => [
      () => endSessions(1),
      () => endSessions(99),
      restartPooler,
    ]).flat()) {
      const before = answersSoFar();
      await until(() => answersSoFar() >= before + 5);
      await cut();
    }
    ended = true;
    await Promise.all(clients);
    expect(wrong).toEqual([]);
    expect(lost).toBeGreaterThan(0);

    const { rows } = await server.query<{ number: number; steps: number[] }>(
      "select number, array_agg(step order by step) as steps from steps group by number",
    );
    const kept = new Map(rows.map(({ number, steps }) => [number, String(steps)]));
    expect([...new Set(kept.values())].sort()).toEqual(["0", "1,2"]);
    const [inserted, transacted] = kinds.slice(-2).map((kind) => [...(answered.get(kind) ?? [])]);
    expect(inserted?.filter((number) => kept.get(number) !== "0")).toEqual([]);
    expect(transacted?.filter((number) => kept.get(number) !== "1,2")).toEqual([]);
  });
});
