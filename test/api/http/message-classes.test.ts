import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, expect, test } from "@jest/globals";
import { app } from "../../../api/app.js";
import { messageClasses } from "../../../api/http/message-classes.js";
import { closeDatabase } from "../../../sql/db.js";

afterAll(closeDatabase);

const prototypeOf = (message: object): unknown => Object.getPrototypeOf(message);

test("requests and responses are created with the prototypes that Express would set, so that Express changes nothing", async () => {
  const server = createServer(messageClasses(app), app);
  const changed: boolean[] = [];
  server.prependListener("request", (request, response) => {
    const made = [request, response].map(prototypeOf);
    response.once("finish", () => {
      const left = [request, response].map(prototypeOf);
      changed.push(...made.map((prototype, n) => prototype !== left[n]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const answer = await fetch(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/healthz`);
  expect([answer.status, changed]).toEqual([200, [false, false]]);
  server.closeAllConnections();
  server.close();
});
