import { once } from "node:events";
import { connect } from "node:net";
import type { LoadPlan } from "../messages.js";
import { nextId, signWith } from "./unique.js";

/**
 * Returns the address of a client: each has one of its own, as customers have. Linux lets a client have any address of 127.0.0.0/8;
 * elsewhere all have one.
 */
export const addressOf = (client: number): string =>
  process.platform === "linux" ? `127.0.${1 + (client >> 8)}.${client & 255}` : "127.0.0.1";

/** A client's connection; it sends one request at a time. */
export interface Connection {
  /** Resolves with the status once the whole response is there, or with 0 without one. */
  send(request: string): Promise<number>;
  close(): void;
}

/** Connects a client to a server whose responses have a Content-Length. */
export async function openConnection(url: string, client: number): Promise<Connection> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), localAddress: addressOf(client), noDelay: true });
  await once(socket, "connect");
  let answer: (status: number) => void = () => undefined;
  let head = "";
  /** How many bytes of the response are still to come; unknown until its head is there. */
  let missing: number | undefined;
  socket.on("data", (chunk: Buffer) => {
    if (missing === undefined) {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      const [, length] = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, end)) ?? [];
      if (length === undefined) {
        socket.destroy();
        return;
      }
      missing = end + 4 + Number(length) - head.length;
    } else {
      missing -= chunk.length;
    }
    if (missing > 0) return;
    const status = Number(head.slice(9, 12));
    head = "";
    missing = undefined;
    answer(status);
  });
  socket.once("close", () => answer(0));
  socket.once("error", () => socket.destroy());
  return {
    send: (request) =>
      new Promise((resolve) => {
        if (socket.destroyed) resolve(0);
        answer = resolve;
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

const lines = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

/** Returns a function that writes the n-th request of a plan, which starts over after the last, with what is new in each. */
export function writerOf({
  requests,
  uniqueHeader,
  webhookSecret,
}: Pick<LoadPlan, "requests" | "uniqueHeader" | "webhookSecret">): (n: number) => string {
  const sign = webhookSecret === undefined ? null : signWith(webhookSecret);
  const templates = requests.map(({ method, path, headers, body = "" }) => ({
    head: `${method} ${path} HTTP/1.1\r\nHost: bench\r\n${lines(headers)}`,
    content: body,
  }));
  return (n) => {
    const template = templates[n % templates.length];
    if (!template) throw new Error("there is no request to send");
    const { head, content } = template;
    const { body, headers } = sign?.(content) ?? { body: content, headers: {} };
    const unique = uniqueHeader === undefined ? "" : `${uniqueHeader}: ${nextId()}\r\n`;
    const length = body === "" ? "" : `content-length: ${Buffer.byteLength(body)}\r\n`;
    return `${head}${lines(headers)}${unique}${length}\r\n${body}`;
  };
}
