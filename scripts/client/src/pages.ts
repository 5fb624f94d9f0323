import { succeeded, type Answer } from "./answers.js";

/** The place of a page, for the parameters of an operation. */
export interface Page {
  cursor?: string;
}

type PageAnswer<Data> =
  | { status: 200; data: Data; headers: Headers }
  | (Answer & { status: 304 | 400 | 401 | 403 | 404 | 408 | 409 | 413 | 429 | 500 | 503 });

function nextPage(headers: Headers): Page | null {
  const [, cursor] = /<[^>]*[?&]cursor=([^&>]+)[^>]*>;\s*rel="next"/.exec(headers.get("link") ?? "") ?? [];
  return cursor === undefined ? null : { cursor: decodeURIComponent(cursor) };
}

/** Reads a list page by page, each when it is asked for. Throws `Refused`. */
export async function* pages<Data>(
  read: (page: Page) => Promise<PageAnswer<Data>>,
): AsyncGenerator<Awaited<Data>, void, undefined> {
  for (let page: Page | null = {}; page !== null;) {
    const { data, headers }: { data: Data; headers: Headers } = await succeeded(read(page));
    yield data;
    page = nextPage(headers);
  }
}

/** Reads a list row by row: `for await (const order of rows((page) => listOrders({ ...page }, session)))`. Throws `Refused`. */
export async function* rows<Row>(
  read: (page: Page) => Promise<PageAnswer<Row[]>>,
): AsyncGenerator<Row, void, undefined> {
  for await (const page of pages(read)) yield* page;
}
