import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { faultOf, isUnavailable, isUniqueViolation, sql, transaction } from "../../sql/db.js";

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );

describe("values", () => {
  test("are returned in their declared types", async () => {
    const at = new Date("2026-03-29T01:30:00.123Z");
    const [row] = await sql`
      select
        ${2 ** 53 - 1}::bigint as bigint, count(*) as count, sum(7::integer) as sum, 1.50::numeric as numeric,
        ${at}::timestamptz as at, '2026-03-29'::date as date, 0.25::double precision as double,
        ${sql.json({ a: [null, "b"] })} as json, null as nothing, ${Buffer.from("å")}::bytea as bytes`;
    expect(row).toEqual({
      bigint: 2 ** 53 - 1,
      count: 1,
      sum: 7,
      numeric: "1.50",
      at,
      date: "2026-03-29",
      double: 0.25,
      json: { a: [null, "b"] },
      nothing: null,
      bytes: Buffer.from("å"),
    });
  });

  test("survive a round trip in arrays", async () => {
    const texts = ["", "NULL", null, 'quo"te', "back\\slash", "{a,b}", "line\nbreak", " "];
    const at = new Date("2026-03-29T01:30:00.123Z");
    await sql`create type season as enum ('SPRING', 'AUTUMN')`;
    const [row] = await sql`
      select
        ${texts}::text[] as texts, ${[]}::text[] as none, ${[1, -2]}::bigint[] as bigints,
        ${[true, false]}::boolean[] as booleans, ${[at]}::timestamptz[] as dates, ${["SPRING"]}::season[]::text[] as seasons`;
    expect(row).toEqual({
      texts,
      none: [],
      bigints: [1, -2],
      booleans: [true, false],
      dates: [at],
      seasons: ["SPRING"],
    });
  });

  test("can fill a statement with many rows", async () => {
    const rows = await sql`
      select name, size
      from unnest(${["a", "b"]}::text[], ${[1, 2]}::integer[]) as box (name, size)
      where name = any(${["b", "c"]}::text[])`;
    expect([...rows]).toEqual([{ name: "b", size: 2 }]);
  });

  test("an integer out of JavaScript's safe range fails its statement and not the next one", async () => {
    await expect(sql`select ${"9007199254740993"}::bigint as big`).rejects.toThrow("beyond");
    expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }]);
  });
});

describe("errors", () => {
  test("identify a duplicate row by its constraint", async () => {
    await sql`create table phones (phone text constraint one_phone unique)`;
    const error = await reasonOf(sql`insert into phones values ('+79990000000'), ('+79990000000')`);
    expect(isUniqueViolation(error)).toBe(true);
    expect(isUniqueViolation(error, "one_phone")).toBe(true);
    expect(isUniqueViolation(error, "another")).toBe(false);
    expect(faultOf(error)).toBe("other");
  });

  test.each([
    ["a malformed uuid", () => sql`select ${"no-uuid"}::uuid`],
    ["a NUL in a text", () => sql`select ${"a\0b"}::text`],
    ["a NUL in a JSON", () => sql`select ${sql.json({ a: "\0" })}::jsonb ->> 'a'`],
    ["a number out of range", () => sql`select ${2 ** 40}::bigint::integer`],
  ])("identify a value that cannot be stored: %s", async (_name, statement) => {
    expect(faultOf(await reasonOf(statement()))).toBe("bad value");
  });

  test.each([
    ["a refused value", () => sql`select ${"secret-value"}::uuid as secret_column`],
    ["a refused row", () => sql`insert into secrets values ('secret-value'), ('secret-value')`],
    ["a value that is too long", () => sql`select ${sql.json({ a: "secret-value" })}::text::integer as secret_column`],
    [
      "an integer that is too big",
      () => sql`select ${"9007199254740993"}::bigint as secret_column, ${"secret-value"}::text`,
    ],
  ])("contain neither statement nor values: %s", async (_name, statement) => {
    await sql`create table if not exists secrets (value text unique)`;
    const error = await reasonOf(statement());
    expect(error).toBeInstanceOf(Error);
    const printed = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error) + String(error);
    expect(printed).not.toContain("secret-value");
    expect(printed).not.toContain("secret_column");
    expect(printed).not.toContain("9007199254740993");
  });

  test("name the place of the statement in the code", async () => {
    const misspelt = async () => {
      await sql`selec 1`;
    };
    const error = await reasonOf(misspelt());
    expect(error).toMatchObject({ code: "42601", stack: expect.stringMatching(/misspelt .*db\.test\.ts/) });
  });

  test("an undefined parameter is refused before anything is sent", async () => {
    const template = Object.assign(["select ", ""], { raw: ["select ", ""] });
    await expect(Reflect.apply(sql, undefined, [template, undefined])).rejects.toThrow("undefined");
  });

  test("a statement that cannot be sent never returns another one's rows", async () => {
    const unwritable = { toJSON: () => 1n };
    const bad = () => sql`select ${sql.json(unwritable)} as bad, ${1}::integer as number`;
    await reasonOf(bad());
    const numbers = Array.from({ length: 200 }, (_, number) => number);
    const answers = await Promise.all(
      numbers.map(async (number) => {
        if (number % 50 === 25) return reasonOf(bad()).then((error) => error instanceof Error);
        const [row] = await sql<{ number: number }[]>`select ${number}::integer as number`.catch((error: unknown) => {
          if (isUnavailable(error)) return [];
          throw error;
        });
        return row === undefined || row.number === number;
      }),
    );
    expect(answers).toEqual(numbers.map(() => true));
  });
});

describe("a transaction", () => {
  test("returns the result of its work, and stores what it wrote", async () => {
    await sql`create table kept (id integer primary key)`;
    const written = await transaction(async (tx) => {
      await Promise.all([1, 2, 3].map((id) => tx`insert into kept values (${id})`));
      const [row] = await tx<{ count: number }[]>`select count(*) from kept`;
      return row?.count;
    });
    expect(written).toBe(3);
    expect((await sql`select id from kept`).count).toBe(3);
  });

  test("stores nothing when its work throws, and rejects with that error", async () => {
    await sql`create table left_behind (id integer)`;
    const reason = new Error("changed my mind");
    const work = transaction(async (tx) => {
      await tx`insert into left_behind values (1)`;
      throw reason;
    });
    await expect(work).rejects.toBe(reason);
    expect((await sql`select id from left_behind`).count).toBe(0);
  });

  test("fails when one of its statements has failed, even when the error was caught", async () => {
    await sql`create table half (id integer primary key)`;
    const work = transaction(async (tx) => {
      await tx`insert into half values (1)`;
      await reasonOf(tx`insert into half values (1)`);
      return "fine";
    });
    await expect(work).rejects.toMatchObject({ code: "25P02" });
    expect((await sql`select id from half`).count).toBe(0);
  });

  test("refuses statements after its end", async () => {
    await sql`create table late (id integer)`;
    const tx = await transaction((handle) => Promise.resolve(handle));
    await expect(tx`insert into late values (1)`).rejects.toThrow("over");
    expect((await sql`select id from late`).count).toBe(0);
  });

  test("stays atomic beside many others and many single statements", async () => {
    await sql`create table crowd (transaction integer, step integer)`;
    await sql`create table singles (id integer)`;
    const transactions = Array.from({ length: 200 }, (_, number) =>
      transaction(async (tx) => {
        await tx`insert into crowd values (${number}, 1)`;
        await tx`insert into crowd values (${number}, 2)`;
        if (number % 4 === 0) throw new Error("never mind");
        await tx`insert into crowd values (${number}, 3)`;
      }),
    );
    const singles = Array.from({ length: 500 }, (_, id) => sql`insert into singles values (${id})`);
    const outcomes = await Promise.allSettled(transactions);
    await Promise.all(singles);
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(50);
    expect((await sql`select transaction from crowd group by 1 having count(*) = 3`).count).toBe(150);
    expect((await sql`select transaction from crowd where transaction % 4 = 0`).count).toBe(0);
    expect((await sql`select id from singles`).count).toBe(500);
  });
});
