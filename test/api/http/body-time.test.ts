import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Character } from "../../support/cast.js";

process.env["BODY_SECONDS"] = "1";
const { startApi } = await import("../../support/api.js");
const cast = await import("../../support/cast.js");
const { fileForm, pdf } = await import("../../support/pictures.js");
const { until } = await import("../../support/until.js");
const { closeBroker } = await import("../../../queues/broker.js");
const { closeDatabase } = await import("../../../sql/db.js");
const { closeSignals } = await import("../../../sql/signals.js");

let api: Awaited<ReturnType<typeof startApi>>;
let anna: Character;

beforeAll(async () => {
  api = await startApi();
  anna = await cast.user(api.client);
});

afterAll(async () => {
  await api.stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

/** Sends the head of a request and the beginning of its body; `answer` is all that comes until the connection is closed. */
function begin(path: string, { token = "", type = "application/json", length = 100, body = "{" as string | Buffer }) {
  const socket = connect(Number(new URL(api.client.url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: x",
    `Content-Type: ${type}`,
    `Content-Length: ${length}`,
    ...(token === "" ? [] : [`Authorization: Bearer ${token}`]),
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.write(body);
  return { socket, answer: text(socket).catch(() => "broken") };
}

const sendCode = "/api/v1/auth/otp/send";
const upload = "/api/v1/files/upload";

test("a body that does not arrive in time is answered 408, and its connection closed", async () => {
  const token = anna.client.token ?? "";
  const replies = await Promise.all([
    begin(sendCode, {}).answer,
    begin("/api/v1/users/me/favorites", { token }).answer,
    begin("/api/v1/pos/webhooks/generic", {}).answer,
  ]);
  for (const reply of replies) {
    expect(reply).toMatch(/^HTTP\/1\.1 408 /);
    expect(reply).toMatch(/connection: close/i);
    expect(JSON.parse(reply.split("\r\n\r\n")[1] ?? "")).toMatchObject({ status: 408, code: "BAD_REQUEST" });
  }
});

test("an answered request does not keep its connection by a body that never ends", async () => {
  for (const path of [upload, "/api/v1/orders", "/nowhere"]) {
    const { answer } = begin(path, {});
    expect(await answer).toMatch(/^HTTP\/1\.1 40[14] /);
  }
});

test("a request whose body has arrived may be answered later", async () => {
  const body = JSON.stringify({ phone: "+79991234567" });
  const { socket, answer } = begin(sendCode, { body, length: body.length });
  const slow = begin(sendCode, {});
  await slow.answer;
  expect(socket.destroyed).toBe(false);
  await until(() => socket.bytesRead > 0);
  socket.end();
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
});

test("a user's file may take longer", async () => {
  const form = new Response(fileForm(pdf, "application/pdf"));
  const whole = Buffer.from(await form.arrayBuffer());
  const { socket, answer } = begin(upload, {
    token: anna.client.token ?? "",
    type: String(form.headers.get("content-type")),
    length: whole.length,
    body: whole.subarray(0, 200),
  });
  // a body that begins after it is too late before it
  await begin(sendCode, {}).answer;
  await begin(sendCode, {}).answer;
  socket.write(whole.subarray(200));
  const [first] = (await Promise.race([once(socket, "data"), answer])) as [Buffer | string];
  expect(String(first)).toMatch(/^HTTP\/1\.1 201 /);
  socket.destroy();
});
