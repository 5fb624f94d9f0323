import { createServer, type RequestListener } from "node:http";
import { app } from "../../../api/app.js";
import { messageClasses } from "../../../api/http/message-classes.js";
import { minuteMs } from "../../../api/http/shared-counters.js";
import { sql } from "../../../sql/db.js";
import { addRateHits } from "../../../sql/queries/rate-counters.js";

// The service without one optimisation: VARIANT=prototypes lets Express replace the prototype of every request, and
// VARIANT=counters counts every request in Postgres before it is answered.

/** Counts one more request of this caller in this minute. */
const count = (caller: string) =>
  addRateHits(sql, new Date(Math.ceil(Date.now() / minuteMs) * minuteMs), [caller], [1]);

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
