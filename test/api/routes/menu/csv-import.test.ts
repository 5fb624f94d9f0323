import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { outcome } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { api, bakery, counts, fullHead, head, items, owner, path, result, send } from "../../../support/csv-import.js";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";
import { files, keysOf, newFileName } from "../../../../lib/storage/file-store.js";
import { sql } from "../../../../sql/db.js";
import { insertFile } from "../../../../sql/queries/files.js";
import { runUpkeep } from "../../../../workers/upkeep.js";

const filesLeft = async () =>
  (await readdir(process.env["STORAGE_DIR"] ?? "", { recursive: true, withFileTypes: true }).catch(() => [])).filter(
    (entry) => entry.isFile(),
  );
/** The worker answers the request before it deletes the file. */
const noFilesLeft = () => until(async () => (await filesLeft()).length === 0);

describe("POST /menu/import/csv", () => {
  test("creates items from the rows, in their order, and returns the counts", async () => {
    const reply = await send(
      `${fullHead}\nb-1,Багет,Хлеб,120.5,На закваске,250,no\n,Рулет,Выпечка,75,,,\n,Кекс,хлеб,много,,,\n`,
    );
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ importId: expect.any(String), created: 2, updated: 0, failed: 1 });
    expect(reply.headers.get("location")).toBe(`${path}/${reply.string("importId")}`);
    const common = { id: expect.any(String), archived: false, source: "CSV" };
    expect(await items()).toEqual([
      {
        ...common,
        name: "Багет",
        category: "Хлеб",
        price: 120.5,
        description: "На закваске",
        weightGrams: 250,
        externalId: "b-1",
        available: false,
      },
      {
        ...common,
        name: "Рулет",
        category: "Выпечка",
        price: 75,
        description: null,
        weightGrams: null,
        externalId: null,
        available: true,
      },
    ]);
    expect(await result(reply)).toEqual({
      importId: reply.body["importId"],
      status: "DONE",
      progress: 1,
      estimatedEndAt: null,
      created: 2,
      updated: 0,
      failed: 1,
      errors: [{ line: 4, column: "price", message: expect.stringContaining("249.90") }],
    });
    await noFilesLeft();
  });

  test("reads semicolons, decimal commas, a BOM and any line ends", async () => {
    expect(
      counts(
        await send(
          "\ufeffprice;category;name\r\n89,90;Хлеб;Бородинский\r120;Хлеб;Багет\n\r\n",
          "text/csv; charset=utf-8",
        ),
      ),
    ).toEqual([2, 0, 0]);
    expect(await items()).toMatchObject([
      { name: "Бородинский", price: 89.9 },
      { name: "Багет", price: 120 },
    ]);
  });

  test("imports nothing from a header alone", async () => {
    expect(counts(await send(head))).toEqual([0, 0, 0]);
  });

  test.each([
    ["", "file"],
    ["\ufeff\n", "file"],
    ["name,category\nБагет,Хлеб\n", "price"],
    ["name,category,price,colour\nБагет,Хлеб,1,red\n", "colour"],
    ["name,category,price,name\nБагет,Хлеб,1,Батон\n", "name"],
    ["Name,category,price\nБагет,Хлеб,1\n", "Name"],
  ])("%j: 400 VALIDATION_ERROR that names %s, and nothing is stored", async (file, column) => {
    const refused = await send(file);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body["errors"]).toEqual([{ path: column, message: expect.any(String) }]);
    expect(await items()).toEqual([]);
    await noFilesLeft();
    expect(await sql`select from menu_imports where partner_id = ${bakery.id}::uuid`).toHaveLength(0);
  });

  test("a file that is not UTF-8: 400 VALIDATION_ERROR that names the line", async () => {
    const rows = Buffer.from(`${head}\n${"Багет,Хлеб,1\n".repeat(20_000)}`);
    for (const [bytes, line] of [
      [Buffer.concat([rows, Buffer.from("\xc1\xe0\xe3\xe5\xf2,\xd5\xeb\xe5\xe1,1\n", "latin1")]), 20_002],
      [Buffer.concat([rows, Buffer.from([0xd0])]), 20_002],
    ] as const) {
      const refused = await send(bytes);
      expect([outcome(refused), refused.body["detail"]]).toEqual([
        "400 VALIDATION_ERROR",
        expect.stringContaining(`line ${line} `),
      ]);
    }
    expect(await items()).toEqual([]);
    await noFilesLeft();
  });

  test.each([
    ["UTF-16", Buffer.from(`\ufeff${head}\n`, "utf16le"), "This is UTF-16"],
    ["a spreadsheet", Buffer.from("PK\u0003\u0004\u0014\u0000\ufffd"), "This is a spreadsheet"],
    ["Latin-1 in its header", Buffer.from(`${head},größe\n`, "latin1"), "line 1 is not"],
  ])("a file that is %s: 400 VALIDATION_ERROR that does not quote the file", async (_case, bytes, words) => {
    const refused = await send(bytes);
    expect([outcome(refused), refused.body["detail"]]).toEqual([
      "400 VALIDATION_ERROR",
      expect.stringContaining(words),
    ]);
    expect(refused.body["errors"]).toMatchObject([{ path: "file" }]);
    expect(refused.text).not.toMatch(/PK|gr|\\u|\ufffd/);
    await noFilesLeft();
  });

  test.each(["text/plain", "application/json", "application/csv", "text/csvx", "x"])(
    "a file sent as %s: 400 UNSUPPORTED_MEDIA_TYPE",
    async (contentType) => {
      expect(outcome(await send(`${head}\nБагет,Хлеб,1\n`, contentType))).toBe("400 UNSUPPORTED_MEDIA_TYPE");
    },
  );

  test("accepts a multipart form", async () => {
    const form = new FormData();
    form.append("note", "from the till");
    form.append("file", new Blob([`${head}\nRye,Bread,1.50\n`], { type: "text/csv" }), "menu.csv");
    const reply = await owner.post(path, form);
    expect([outcome(reply), ...counts(reply)]).toEqual(["200", 1, 0, 0]);
    const other = new FormData();
    other.append("menu", new Blob([`${head}\n`]), "menu.csv");
    expect(outcome(await owner.post(path, other))).toBe("400 VALIDATION_ERROR");
    await noFilesLeft();
  });

  test("leaves no file behind when its process was killed after the upload", async () => {
    const [name, expiresAt] = [newFileName(), new Date(Date.now() - 1_000)];
    await files.put(keysOf(name).menu, Readable.from(["x"]), "text/csv");
    await insertFile(sql, bakery.owner.id, { name, contentType: "text/csv", inParts: null, expiresAt });
    await runUpkeep(task({ task: "clear-away-files" }));
    await noFilesLeft();
  });

  test("over 50 MB: 413 PAYLOAD_TOO_LARGE, before the body when its length is declared", async () => {
    const { hostname, port } = new URL(owner.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${String(owner.token)}\r\n` +
        `Content-Type: text/csv\r\nContent-Length: ${50 * 1_048_576 + 1}\r\n\r\n`,
    );
    for await (const answer of socket) {
      expect(String(answer)).toMatch(/^HTTP\/1.1 413 [^]*PAYLOAD_TOO_LARGE/);
      break;
    }
  });

  test("over 50 MB without a declared length: 413 as soon as the limit is exceeded", async () => {
    const piece = Buffer.from("Багет,Хлеб,1\n".repeat(50_000));
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(sent === 0 ? Buffer.from(`${head}\n`) : piece);
        sent += piece.length;
        if (sent > 60 * 1_048_576) controller.close();
      },
    });
    const response = await fetch(owner.url + path, {
      method: "POST",
      headers: { "content-type": "text/csv", authorization: `Bearer ${String(owner.token)}` },
      body,
      duplex: "half",
    });
    expect([response.status, await response.json()]).toMatchObject([413, { code: "PAYLOAD_TOO_LARGE" }]);
    await noFilesLeft();
  });

  test("leaves nothing behind when the client disconnects while sending", async () => {
    const { hostname, port } = new URL(owner.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${String(owner.token)}\r\n` +
        `Content-Type: text/csv\r\nContent-Length: 1000000\r\n\r\n${head}\n${"Багет,Хлеб,1\n".repeat(20_000)}`,
    );
    await until(async () => (await filesLeft()).length > 0);
    socket.destroy();
    await noFilesLeft();
    expect(await sql`select from menu_imports where partner_id = ${bakery.id}::uuid`).toHaveLength(0);
  });

  test("a quote that is never closed: 400 that names the line; the rows before it are imported", async () => {
    const refused = await send(`${head}\nБагет,Хлеб,1\nБатон,Хлеб,x\n"Рулет,Хлеб,2\nКекс,Хлеб,3\n`);
    expect(outcome(refused)).toBe("400 VALIDATION_ERROR");
    expect(refused.body).toMatchObject({
      detail: expect.stringContaining("Line 4: "),
      created: 1,
      updated: 0,
      failed: 1,
      errors: [{ path: "line 4" }, { path: "line 3, price" }],
    });
    expect(await items()).toMatchObject([{ name: "Багет" }]);
    expect(await result(refused)).toMatchObject({
      status: "FAILED",
      created: 1,
      failed: 1,
      errors: [
        { line: 4, column: null, message: expect.stringContaining("quote") },
        { line: 3, column: "price" },
      ],
    });
    expect((await result(refused))["progress"]).toBeLessThan(1);
    await noFilesLeft();
  });

  test("keeps the first 1,000 errors and counts all", async () => {
    const reply = await send(`${head}\n${"Багет,Хлеб,\n".repeat(6_500)}`);
    expect(counts(reply)).toEqual([0, 0, 6_500]);
    const { errors } = await result(reply);
    expect(errors).toHaveLength(1_000);
    expect(errors).toMatchObject({ 0: { line: 2 }, 999: { line: 1_001 } });
  });

  test("is open to partners that wait for review", async () => {
    const newcomer = await cast.bakery(api.client, "PENDING_REVIEW");
    expect(counts(await send(`${head}\nБагет,Хлеб,1\n`, "text/csv", newcomer.owner.client))).toEqual([1, 0, 0]);
  });

  test("does not touch another partner's menu, even with the same external ids", async () => {
    const other = await cast.bakery(api.client);
    await send("externalId,name,category,price\nb-1,Багет,Хлеб,1\n", "text/csv", other.owner.client);
    expect(counts(await send("externalId,name,category,price\nb-1,Багет,Хлеб,2\n,Багет,Хлеб,3\n"))).toEqual([1, 1, 0]);
    expect((await other.owner.client.get("/api/v1/menu/items")).list).toMatchObject([{ price: 1 }]);
  });
});

describe("GET /menu/import/csv/{importId}", () => {
  test("another partner's import: 404 NOT_FOUND", async () => {
    const reply = await send(`${head}\nБагет,Хлеб,1\n`);
    const other = await cast.bakery(api.client);
    expect(outcome(await other.owner.client.get(`${path}/${reply.string("importId")}`))).toBe("404 NOT_FOUND");
  });

  test.each(["01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f", "7", "null"])("%s: 404 NOT_FOUND", async (id) => {
    expect(outcome(await owner.get(`${path}/${id}`))).toBe("404 NOT_FOUND");
  });
});

test("concurrent imports of one partner run one after the other, each completely", async () => {
  const file = (price: number) =>
    `${head}\n${Array.from({ length: 300 }, (_, n) => `Хлеб ${n},Хлеб,${price}\n`).join("")}`;
  const replies = await Promise.all([1, 2, 3, 4].map((price) => send(file(price))));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(replies.map(counts).sort()).toEqual([
    [0, 300, 0],
    [0, 300, 0],
    [0, 300, 0],
    [300, 0, 0],
  ]);
  const prices = await sql`select distinct price_minor from menu_items where partner_id = ${bakery.id}::uuid`;
  expect(prices).toHaveLength(1);
});
