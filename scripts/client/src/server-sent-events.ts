/** A message of a stream. */
export interface StreamMessage {
  /** Null where a comment or a position alone came. */
  type: string | null;
  data: string;
  /** The last `id` so far; empty before the first one. */
  id: string;
  /** How long to wait before coming back, where the stream said so. */
  retryMs: number | null;
}

/** Reads the messages of a stream as the HTML standard interprets them (section 9.2.6), until it ends. */
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
      // a CR may be the first half of a line's end
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
