/** A message of a stream. */
export interface StreamMessage {
  /** Null for a comment, or a position without data. */
  type: string | null;
  data: string;
  /** The last `id` so far; empty before the first one. */
  id: string;
  /** The stream's reconnection delay, once it has sent one. */
  retryMs: number | null;
}

/** Parses a stream until its end, as section 9.2.6 of the HTML standard specifies. */
export async function* readMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let message: StreamMessage = { type: null, data: "", id: "", retryMs: null };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // a CR may be the first half of a CRLF
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          yield message;
          message = { ...message, type: null, data: "" };
          continue;
        }
        const [, field, text = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (field === "id") message.id = text;
        else if (field === "event") message.type = text;
        else if (field === "retry" && /^\d+$/.test(text)) message.retryMs = Number(text);
        else if (field === "data") message.data += message.data === "" ? text : `\n${text}`;
      }
    }
  } finally {
    // closes the connection when the app stops reading
    await reader.cancel().catch(() => undefined);
  }
}
