import { createServer, type RequestListener } from "node:http";
import { app } from "../../../api/app.js";
import { messageClasses } from "../../../api/http/message-classes.js";
import { windowMs } from "../../../api/http/shared-counters.js";
import { sql } from "../../../sql/db.js";
import { addRateHits } from "../../../sql/queries/rate-counters.js";

// The service with one thing as one would do it first: VARIANT=prototypes lets Express exchange those of every request,
// VARIANT=counters counts every request in Postgres before it is answered.

/** Counts one more of this caller in this minute. */
const count = (caller: string) =>
  addRateHits(sql, new Date(Math.floor(Date.now() / windowMs) * windowMs), [caller], [1]);

const counting: RequestListener = (request, response) => {
  count(`bench ${(request.headers.authorization ?? "").slice(-40)}`).then(
    () => void app(request, response),
    () => response.writeHead(500).end(),
  );
};

const counters = process.env["VARIANT"] === "counters";
const server = counters ? createServer(messageClasses(app), counting) : createServer(app);
server.keepAliveTimeout = 65_000;
server.listen(Number(process.env["PORT"]), "127.0.0.1", () => process.send?.("up"));
process.on("disconnect", () => process.exit());
