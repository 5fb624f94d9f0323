import { CsvError, Parser } from "csv-parse";
import {
  countLineEnds,
  lineEnds,
  MAX_FIELDS,
  rowReader,
  type MenuHeader,
  type MenuRow,
  type RowFault,
} from "./menu-csv.js";

/** Longer than any accepted row: at this length a quote counts as never closed. */
const MAX_ROW_BYTES = 1_048_576;

/** The line that a row begins in, from 1. */
interface AtLine {
  line: number;
}

/** A place between two rows: the bytes and line ends of the file before it. */
export interface Place {
  position: number;
  lines: number;
}

/** Consecutive rows, with the place before them and the place after them, from which reading can resume. */
export interface Batch extends Place {
  from: Place;
  rows: (MenuRow & AtLine)[];
  rejected: (RowFault & AtLine)[];
}

/** How the file ended, after its last batch. */
export type Ending = { complete: true } | ({ complete: false; message: string } & AtLine);

/** How much of a file to read. */
export interface Extent {
  /** The header, and the place where the bytes begin. */
  from: MenuHeader;
  /** The most rows of the file, including those before `from`. */
  maxRows: number;
  rowsBefore?: number;
  batchRows: number;
}

/**
 * Reads the rows of a menu in batches, with little more than one in memory; returns how the file ended. A quote that is not
 * closed ends it early, as the beginning of the next row is unknown; so does one row too many.
 */
export async function* readBatches(
  bytes: AsyncIterable<Buffer>,
  { from, maxRows, rowsBefore = 0, batchRows }: Extent,
): AsyncGenerator<Batch, Ending> {
  const read = rowReader(from.columns);
  const full: Batch[] = [];
  const newBatch = ({ position, lines }: Place): Batch => ({
    from: { position, lines },
    rows: [],
    rejected: [],
    position,
    lines,
  });
  let batch = newBatch(from);
  let rows = rowsBefore;
  let excess: number | undefined;
  // as the parser counts them
  const seen = { lines: 0, emptyLines: 0 };

  const onRecord = (fields: string[], info: { bytes: number; lines: number; empty_lines: number }): null => {
    const emptyLines = info.empty_lines - seen.emptyLines;
    // the parser counts a line end within quotes once for each of its characters
    const hasInner = info.lines - seen.lines > emptyLines + 1;
    Object.assign(seen, { lines: info.lines, emptyLines: info.empty_lines });
    const line = batch.lines + emptyLines + 1;
    const row = read(fields);
    if (row !== null && rows === maxRows) excess ??= line;
    if (excess !== undefined) return null;
    batch.position = from.position + info.bytes;
    batch.lines = line + (hasInner ? fields.reduce((sum, field) => sum + countLineEnds(field), 0) : 0);
    if (row === null) return null;
    rows += 1;
    if ("message" in row) batch.rejected.push({ line, ...row });
    else batch.rows.push({ line, ...row });
    if (batch.rows.length + batch.rejected.length === batchRows) {
      full.push(batch);
      batch = newBatch(batch);
    }
    return null;
  };

  const parser = new Parser({
    delimiter: from.delimiter,
    record_delimiter: lineEnds,
    skip_empty_lines: true,
    relax_column_count: true,
    // names contain quotes, such as the inches of a pizza, and not every program doubles them
    relax_quotes: true,
    // delimiters beyond these become part of the last field
    ignore_last_delimiters: MAX_FIELDS,
    max_record_size: MAX_ROW_BYTES,
    on_record: onRecord,
  });
  parser.on("error", () => undefined).resume();
  const completed = (act: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve, reject) => act((error) => (error ? reject(error) : resolve())));

  let broken: CsvError | undefined;
  try {
    for await (const chunk of bytes) {
      await completed((done) => void parser.write(chunk, done));
      yield* full.splice(0);
      if (excess !== undefined) break;
    }
    if (excess === undefined) await completed((done) => void parser.end(done));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    broken = error;
  } finally {
    parser.destroy();
  }
  yield* full.splice(0);
  yield batch;
  if (excess !== undefined)
    return {
      complete: false,
      line: excess,
      message: `the file has more than ${maxRows} rows: those from here on are left out`,
    };
  if (!broken) return { complete: true };
  const line = batch.lines + (parser.info.empty_lines - seen.emptyLines) + 1;
  return {
    complete: false,
    line,
    message:
      broken.code === "CSV_MAX_RECORD_SIZE"
        ? "this row is longer than 1 MB, maybe for a quote in it that is never closed: the file is read up to here"
        : "a quote is opened in this row and never closed: the file is read up to here",
  };
}
