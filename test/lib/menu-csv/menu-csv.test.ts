import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  checkFormat,
  menuColumns,
  readHeader,
  rowReader,
  WrongHeader,
  type MenuColumn,
  type MenuRow,
  type RowFault,
} from "../../../lib/menu-csv/menu-csv.js";

const columnAtFault = (head: string | Buffer) => {
  try {
    readHeader(Buffer.from(head));
  } catch (error) {
    if (error instanceof WrongHeader) return error.column;
    throw error;
  }
  throw new Error("the header was accepted");
};

describe("the header", () => {
  test.each([
    ["name,category,price\n", ["name", "category", "price"], ",", 20, 1],
    ["name;category;price\r\nБагет", ["name", "category", "price"], ";", 21, 1],
    ["\ufeffprice;name;category\r", ["price", "name", "category"], ";", 23, 1],
    ['"name","category","price"', ["name", "category", "price"], ",", 25, 1],
    ["\n\r\nname,category,price\n\n", ["name", "category", "price"], ",", 23, 3],
    [`${menuColumns.join()}\n`, menuColumns, ",", 65, 1],
    ["sep=;\r\nname;category;price\r\n", ["name", "category", "price"], ";", 28, 2],
    ["\ufeffsep=,\nname,category,price\n", ["name", "category", "price"], ",", 29, 2],
  ])("%j", (head, columns, delimiter, position, lines) => {
    expect(readHeader(Buffer.from(head))).toEqual({ columns, delimiter, position, lines });
  });

  test.each([
    ["", null],
    ["\ufeff", null],
    ["\r\n\r\n", null],
    ['"name,category,price', null],
    ["name,category\n", "price"],
    ["category;price\n", "name"],
    ["name,price\n", "category"],
    ["name,category,price,colour\n", "colour"],
    ["name,category,Price\n", "Price"],
    ["name, category,price\n", " category"],
    ["name,category,price,\n", ""],
    ["name,category,price,price\n", "price"],
    ["name\tcategory\tprice\n", null],
    ["sep=\t\nname\tcategory\tprice\n", null],
    ["na\u0007me,category,price\n", "na\ufffdme"],
    ["name,category;price\n", "category;price"],
    ["Багет,Хлеб,120\n", "Багет"],
    [`${"x".repeat(70_000)}\n`, `${"x".repeat(60)}…`],
  ])("%j is refused for %j", (head, column) => {
    expect(columnAtFault(head)).toBe(column);
  });
});

test.each([
  ["name, category,price\n", "“ category” must be “category”"],
  ["name,category,Price\n", "“Price” must be “price”"],
  ["name,category,colour\n", "no column “colour”"],
  ["name,category\n", "name, category, price"],
  ["", "name, category, price"],
  ["name\tcategory\tprice\n", "not by tabs"],
])("the error for the header %j names the correction", (head, words) => {
  expect(() => readHeader(Buffer.from(head))).toThrow(words);
});

describe("the check of a file's format", () => {
  const text = "name,category,price\n";
  const swapped = Buffer.from(text, "utf16le").swap16();
  test.each([
    ["UTF-16 with a byte order mark", Buffer.from(`\ufeff${text}`, "utf16le"), "UTF-16"],
    ["UTF-16 without one", Buffer.from(text, "utf16le"), "UTF-16"],
    ["big-endian UTF-16", swapped, "UTF-16"],
    ["big-endian UTF-16 with a byte order mark", Buffer.concat([Buffer.from([0xfe, 0xff]), swapped]), "UTF-16"],
    ["a spreadsheet", Buffer.from("PK\u0003\u0004\u0014\u0000"), "a spreadsheet"],
    ["an old spreadsheet", Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]), "a spreadsheet"],
  ])("refuses %s with a message that names it", (_case, bytes, words) => {
    expect(() => checkFormat(bytes)).toThrow(words);
  });

  test("accepts CSV in UTF-8", () => {
    for (const head of [text, `\ufeff${text}`, "", `${text}a\u0000b,c,1\n`]) checkFormat(Buffer.from(head));
  });
});

describe("a row", () => {
  const read = rowReader(menuColumns);
  const row = (fields: Partial<Record<MenuColumn, string>> = {}) =>
    read(menuColumns.map((column) => ({ name: "Багет", category: "Хлеб", price: "120", ...fields })[column] ?? ""));
  const isFault = (result: MenuRow | RowFault | null): result is RowFault => result !== null && "message" in result;
  const faultOf = (fields: Partial<Record<MenuColumn, string>>) => {
    const result = row(fields);
    return isFault(result) ? result.column : "none";
  };

  test("has the values of its columns, without surrounding spaces", () => {
    expect(row({ name: " Багет ", externalId: " b-1\u00a0", description: "На\nзакваске", weightGrams: "250" })).toEqual(
      {
        name: "Багет",
        category: "Хлеб",
        priceMinor: 12_000,
        externalId: "b-1",
        description: "На\nзакваске",
        weightGrams: 250,
        available: null,
      },
    );
  });

  test("has no values for missing optional columns", () => {
    expect(rowReader(["price", "category", "name"])(["1", "Хлеб", "Багет"])).toEqual({
      name: "Багет",
      category: "Хлеб",
      priceMinor: 100,
      externalId: null,
      description: null,
      weightGrams: null,
      available: null,
    });
  });

  test.each([
    ["0", 0],
    ["120", 12_000],
    ["120.5", 12_050],
    ["120,5", 12_050],
    ["89,90", 8_990],
    ["0.07", 7],
    ["1.15", 115],
    ["007", 700],
    ["10000000", 1_000_000_000],
    ["10000000.00", 1_000_000_000],
  ])("has the price %s as %i minor units", (price, priceMinor) => {
    expect(row({ price })).toMatchObject({ priceMinor });
  });

  test("has every price exactly as written, with a point or a comma", () => {
    const amount = fc.tuple(fc.integer({ min: 0, max: 9_999_999 }), fc.integer({ min: 0, max: 99 }));
    fc.assert(
      fc.property(amount, fc.constantFrom(".", ","), ([whole, cents], point) => {
        const price = `${whole}${point}${String(cents).padStart(2, "0")}`;
        expect(row({ price })).toMatchObject({ priceMinor: whole * 100 + cents });
      }),
    );
  });

  test.each([
    "",
    "free",
    "-1",
    "+1",
    "1.005",
    "1,2,3",
    "1 200",
    "1e3",
    "0x10",
    "120.",
    ".5",
    "10000000.01",
    "99999999",
    "NaN",
    "120 ₽",
  ])("with the price %j is refused", (price) => {
    expect(faultOf({ price })).toBe("price");
  });

  test.each([
    ["true", true],
    ["TRUE", true],
    ["1", true],
    ["Yes", true],
    ["false", false],
    ["0", false],
    ["nO", false],
    ["", null],
  ])("with available %j is read as %j", (available, expected) => {
    expect(row({ available })).toMatchObject({ available: expected });
  });

  test.each<[Partial<Record<MenuColumn, string>>, MenuColumn | "none"]>([
    [{ name: "" }, "name"],
    [{ name: " \t" }, "name"],
    [{ name: "x".repeat(200) }, "none"],
    [{ name: "x".repeat(201) }, "name"],
    [{ name: "Ба\u0000гет" }, "name"],
    [{ category: "" }, "category"],
    [{ category: "x".repeat(100) }, "none"],
    [{ category: "x".repeat(101) }, "category"],
    [{ externalId: "x".repeat(200) }, "none"],
    [{ externalId: "x".repeat(201) }, "externalId"],
    [{ externalId: "\u0000" }, "externalId"],
    [{ description: "x".repeat(2_000) }, "none"],
    [{ description: "x".repeat(2_001) }, "description"],
    [{ weightGrams: "1" }, "none"],
    [{ weightGrams: "1000000" }, "none"],
    [{ weightGrams: "0" }, "weightGrams"],
    [{ weightGrams: "1000001" }, "weightGrams"],
    [{ weightGrams: "2.5" }, "weightGrams"],
    [{ weightGrams: "250 г" }, "weightGrams"],
    [{ available: "да" }, "available"],
  ])("%j has an error in: %s", (fields, column) => {
    expect(faultOf(fields)).toBe(column);
  });

  test("must have as many fields as the header", () => {
    expect(read(["Багет", "Хлеб", "120"])).toEqual({
      column: null,
      message: "must have as many fields as the header, 7, and has 3",
    });
    expect(read([...Array<string>(7).fill("1"), ""])).toMatchObject({ column: null });
  });

  test("of spaces only is ignored, however many fields it has", () => {
    for (const fields of [[""], [" ", "\t"], Array<string>(7).fill(""), Array<string>(9).fill(" ")])
      expect(read(fields)).toBeNull();
  });
});
