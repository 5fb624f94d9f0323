import { createHmac } from "node:crypto";

let unique = 0;

/** Returns an id that no other request has. */
export const nextId = (): string => `bench-${process.pid}-${(unique += 1)}`;

/** Returns a function that gives an event a new id, and signs it as Standard Webhooks specifies. */
export function signWith(webhookSecret: string) {
  const key = Buffer.from(webhookSecret.slice("whsec_".length), "base64");
  return (template: string): { body: string; headers: Record<string, string> } => {
    const [id, timestamp] = [nextId(), String(Math.floor(Date.now() / 1_000))];
    const body = template.replace("EVENT", id);
    const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    return {
      body,
      headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` },
    };
  };
}
