/** Formats a message of a stream. */
export const message = (position: number, type: string, data: unknown): string =>
  `id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

/** Returns an id from the data of an event, such as `orderId`. */
export function idIn(data: unknown, name: "orderId" | "boxId"): string | null {
  if (typeof data !== "object" || data === null) return null;
  const id: unknown = Reflect.get(data, name);
  return typeof id === "string" ? id : null;
}
