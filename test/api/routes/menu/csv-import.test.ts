import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { task } from "../../../support/task.js";
import { until } from "../../../support/until.js";

import { startApi, type Client, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { disconnect, startQueueWorker } from "../../../support/queue-worker.js";
import { files, keysOf, newFileName } from "../../../../lib/storage/file-store.js";
import { menuImport } from "../../../../queues/index.js";
import { sql } from "../../../../sql/db.js";
import { insertFile } from "../../../../sql/queries/files.js";
import { importMenu } from "../../../../workers/menu-import.js";
import { runUpkeep } from "../../../../workers/upkeep.js";

let api: Awaited<ReturnType<typeof startApi>>;
let worker: ReturnType<typeof startQueueWorker>;
let bakery: cast.Bakery;
let owner: Client;

beforeAll(async () => {
  api = await startApi();
  worker = startQueueWorker(menuImport, importMenu, 4);
});

beforeEach(async () => {
  bakery = await cast.bakery(api.client);
  owner = bakery.owner.client;
});

afterAll(async () => {
  await api.stop();
  await worker.stop();
  await disconnect();
});

const path = "/api/v1/menu/import/csv";
const send = (file: string | Uint8Array, contentType = "text/csv", as = owner) =>
  as.send("post", path, file, { headers: { "content-type": contentType } });
const outcome = ({ status, body }: Reply) => (status < 400 ? String(status) : `${status} ${String(body["code"])}`);
const result = async (reply: Reply) => (await owner.get(`${path}/${reply.string("importId")}`)).body;
const counts = ({ body: { created, updated, failed } }: Reply) => [created, updated, failed];
const items = async (query = "") => (await owner.get(`/api/v1/menu/items?limit=200${query}`)).list;
const filesLeft = async () =>
  (await readdir(process.env["STORAGE_DIR"] ?? "", { recursive: true, withFileTypes: true }).catch(() => [])).filter(
    (entry) => entry.isFile(),
  );

const head = "name,category,price";
const fullHead = "externalId,name,category,price,description,weightGrams,available";

describe("POST /menu/import/csv", () => {
  test("makes items of the rows, in their order, and tells what it did", async () => {
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
      created: 2,
      updated: 0,
      failed: 1,
      errors: [{ line: 4, column: "price", message: expect.stringContaining("249.90") }],
    });
    expect(await filesLeft()).toEqual([]);
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

  test("a header alone imports nothing", async () => {
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
    expect([await items(), await filesLeft()]).toEqual([[], []]);
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
    expect([await items(), await filesLeft()]).toEqual([[], []]);
  });

  test.each([
    ["UTF-16", Buffer.from(`\ufeff${head}\n`, "utf16le"), "This is UTF-16"],
    ["a spreadsheet", Buffer.from("PK\u0003\u0004\u0014\u0000\ufffd"), "This is a spreadsheet"],
    ["Latin-1 in its header", Buffer.from(`${head},größe\n`, "latin1"), "line 1 is not"],
  ])("that is %s: 400 VALIDATION_ERROR without a word of what is in it", async (_case, bytes, words) => {
    const refused = await send(bytes);
    expect([outcome(refused), refused.body["detail"]]).toEqual([
      "400 VALIDATION_ERROR",
      expect.stringContaining(words),
    ]);
    expect(refused.body["errors"]).toMatchObject([{ path: "file" }]);
    expect(refused.text).not.toMatch(/PK|gr|\\u|\ufffd/);
    expect(await filesLeft()).toEqual([]);
  });

  test.each(["text/plain", "application/json", "application/csv", "text/csvx", "x"])(
    "sent as %s: 400 BAD_REQUEST",
    async (contentType) => {
      expect(outcome(await send(`${head}\nБагет,Хлеб,1\n`, contentType))).toBe("400 BAD_REQUEST");
    },
  );

  test("comes as the part of a form too", async () => {
    const form = new FormData();
    form.append("note", "from the till");
    form.append("file", new Blob([`${head}\nRye,Bread,1.50\n`], { type: "text/csv" }), "menu.csv");
    const reply = await owner.post(path, form);
    expect([outcome(reply), ...counts(reply)]).toEqual(["200", 1, 0, 0]);
    const other = new FormData();
    other.append("menu", new Blob([`${head}\n`]), "menu.csv");
    expect(outcome(await owner.post(path, other))).toBe("400 VALIDATION_ERROR");
    expect(await filesLeft()).toEqual([]);
  });

  test("leaves nothing behind when it came in and its process was killed", async () => {
    const [name, expiresAt] = [newFileName(), new Date(Date.now() - 1_000)];
    await files.put(keysOf(name).menu, Readable.from(["x"]), "text/csv");
    await insertFile(sql, bakery.owner.id, { name, contentType: "text/csv", inParts: null, expiresAt });
    await runUpkeep(task({ task: "clear-away-files" }));
    expect(await filesLeft()).toEqual([]);
  });

  test("over 50 MB: 413 PAYLOAD_TOO_LARGE, before it is sent when its length is said", async () => {
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

  test("and as soon as it is too long when its length is not said", async () => {
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
    expect(await filesLeft()).toEqual([]);
  });

  test("whoever goes away while sending leaves nothing behind", async () => {
    const { hostname, port } = new URL(owner.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${String(owner.token)}\r\n` +
        `Content-Type: text/csv\r\nContent-Length: 1000000\r\n\r\n${head}\n${"Багет,Хлеб,1\n".repeat(20_000)}`,
    );
    await until(async () => (await filesLeft()).length > 0);
    socket.destroy();
    await until(async () => (await filesLeft()).length === 0);
    expect(await sql`select from menu_imports where partner_id = ${bakery.id}::uuid`).toHaveLength(0);
  });

  test("a quote that is never closed: 400 that names the line; what came before is imported", async () => {
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
    expect(await filesLeft()).toEqual([]);
  });

  test("of the errors the first 1,000 are kept, and all are counted", async () => {
    const reply = await send(`${head}\n${"Багет,Хлеб,\n".repeat(6_500)}`);
    expect(counts(reply)).toEqual([0, 0, 6_500]);
    const { errors } = await result(reply);
    expect(errors).toHaveLength(1_000);
    expect(errors).toMatchObject({ 0: { line: 2 }, 999: { line: 1_001 } });
  });

  test("a partner that waits for review has a menu already", async () => {
    const newcomer = await cast.bakery(api.client, "PENDING_REVIEW");
    expect(counts(await send(`${head}\nБагет,Хлеб,1\n`, "text/csv", newcomer.owner.client))).toEqual([1, 0, 0]);
  });

  test("another partner's menu is not touched, whatever its keys", async () => {
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

test("imports of one partner at the same time come one after the other, and each is done whole", async () => {
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
