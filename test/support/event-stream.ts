import { get, type IncomingMessage } from "node:http";
import type { Client } from "./api.js";

export interface Message {
  id: number;
  type: string;
  data: unknown;
}

/** A stream that a client follows. */
export interface Following {
  response: IncomingMessage;
  /** The messages so far. */
  readonly messages: readonly Message[];
  /** All received text, including comments and lines without a message. */
  readonly raw: string;
  readonly hasEnded: boolean;
  close: () => void;
}

function parse(block: string): Message | null {
  const fields = new Map(block.split("\n").map((line) => [line.split(":")[0] ?? "", line.replace(/^\w*: ?/, "")]));
  const data = fields.get("data");
  if (data === undefined) return null;
  return { id: Number(fields.get("id")), type: fields.get("event") ?? "message", data: JSON.parse(data) };
}

/** Opens a stream as `client`; resolves when the response begins. A `paused` one reads nothing. */
export function follow(
  { url, token }: Client,
  path: string,
  { lastSeen, paused = false }: { lastSeen?: number; paused?: boolean } = {},
): Promise<Following> {
  const headers = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(lastSeen !== undefined && { "last-event-id": String(lastSeen) }),
  };
  return new Promise((resolve, reject) => {
    const request = get(url + path, { headers, agent: false }, (response) => {
      const state = { raw: "", hasEnded: false };
      response.setEncoding("utf8");
      if (paused) response.pause();
      else response.on("data", (text: string) => (state.raw += text));
      for (const event of ["end", "close", "error"]) response.on(event, () => (state.hasEnded = true));
      resolve({
        response,
        get messages() {
          return state.raw
            .split("\n\n")
            .slice(0, -1)
            .flatMap((block) => parse(block) ?? []);
        },
        get raw() {
          return state.raw;
        },
        get hasEnded() {
          return state.hasEnded;
        },
        close: () => request.destroy(),
      });
    });
    request.on("error", reject);
  });
}
