/** New values of some fields, or null where a field may have none; a field that is left out stays as it is. */
export type Changes<T> = { [K in keyof T]?: T[K] | undefined };

/** Returns the first row of a statement; undefined when it has none. */
export async function firstRow<T>(statement: Promise<readonly T[]>): Promise<T | undefined> {
  return (await statement)[0];
}

/** Returns the row of a statement that always has one. */
export async function onlyRow<T>(statement: Promise<readonly T[]>): Promise<T> {
  const [row] = await statement;
  if (row === undefined) throw new Error("a statement returned no row");
  return row;
}

/** Returns the value of a statement that always has one row with one column. */
export async function onlyValue<T>(statement: Promise<readonly Readonly<Record<string, T>>[]>): Promise<T> {
  const [value] = Object.values(await onlyRow(statement));
  if (value === undefined) throw new Error("a statement returned no column");
  return value;
}

/** Returns how many rows a statement returned or changed. */
export const countRows = async (statement: Promise<{ readonly count: number }>): Promise<number> =>
  (await statement).count;

/** Whether a statement returned or changed a row. */
export const hasRows = async (statement: Promise<{ readonly count: number }>): Promise<boolean> =>
  (await statement).count > 0;
