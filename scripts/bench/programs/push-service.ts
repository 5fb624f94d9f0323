import { createServer } from "node:http";

// A push service that accepts every message at once, unread.

createServer((request, response) => {
  request.resume().once("end", () => response.writeHead(201).end());
}).listen(Number(process.env["PORT"]), "127.0.0.1", () => process.send?.("up"));
