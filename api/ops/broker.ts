/**
 * The broker's module, with BullMQ: a third of all that an API process would load. Only operators' pages ask the broker, as
 * requests stage their jobs in Postgres; so it is loaded when the first of them does.
 */
export const loadBroker = () => (loaded ??= import("../../queues/broker.js"));

let loaded: Promise<typeof import("../../queues/broker.js")> | undefined;

/** Closes the connections to the broker, if this process has any. */
export async function closeBroker(): Promise<void> {
  await (await loaded)?.closeBroker();
}
