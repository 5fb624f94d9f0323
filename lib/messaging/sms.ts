import { config } from "../process/config.js";
import type { Logger } from "../process/log.js";
import { inSpan } from "../process/traces.js";
import { networkCode, neverSent } from "../outbound/network-error.js";

const gatewayTimeoutMs = 10_000;

/** The gateway certainly did not accept the message, so it may be sent again. After other failures that is unknown. */
export class SmsRefused extends Error {
  override name = "SmsRefused";
}

/** Returns the text with a login code, in Russian unless the locale is English. The code comes last, where phones look for it. */
export const codeText = (locale: string | null, code: string): string =>
  `${locale?.startsWith("en") ? "Your login code" : "Код для входа"}: ${code}`;

/** Sends a text to a phone through the configured sender; throws SmsRefused when it was certainly not accepted. */
export async function sendSms(phone: string, text: string, log: Logger, timeoutMs = gatewayTimeoutMs): Promise<void> {
  // Printing the code is this sender's purpose; production refuses to start with it.
  if (config.SMS_SENDER === "log") log.info(`SMS to ${phone}: ${text}`);
  else await callGateway(phone, text, timeoutMs);
}

type Escape = (value: string) => string;

const fill = (template: string, escape: Escape, values: Record<string, string>): string =>
  template.replace(/\{(phone|text)\}/g, (_placeholder, name: string) => escape(values[name] ?? ""));

const escapes: Record<string, Escape> = {
  "application/json": (value) => JSON.stringify(value).slice(1, -1),
  "application/x-www-form-urlencoded": encodeURIComponent,
};

async function callGateway(phone: string, text: string, timeoutMs: number): Promise<void> {
  const values = { phone, text };
  const headers = new Headers(config.SMS_HTTP_HEADERS);
  // If the gateway closes a kept-alive connection, it is unknown whether it accepted the message.
  headers.set("connection", "close");
  const request: RequestInit = {
    method: config.SMS_HTTP_METHOD,
    headers,
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
  };
  if (config.SMS_HTTP_METHOD !== "GET") {
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    const [type = ""] = (headers.get("content-type") ?? "").split(";");
    request.body = fill(config.SMS_HTTP_BODY, escapes[type.trim().toLowerCase()] ?? String, values);
  }

  const response = await inSpan("SMS gateway", { kind: "client" }, async (span) => {
    const answer = await fetch(fill(config.SMS_HTTP_URL ?? "", encodeURIComponent, values), request);
    span?.set({ "http.response.status_code": answer.status });
    return answer;
  }).catch((error: unknown) => {
    throw neverSent(error)
      ? new SmsRefused(`the SMS gateway cannot be reached (${networkCode(error)})`)
      : new Error(`no answer from the SMS gateway (${networkCode(error)})`);
  });
  await response.body?.cancel();
  if (response.ok) return;
  const message = `the SMS gateway answered ${response.status}`;
  // A proxy that answers 504 does not know whether the gateway behind it accepted the message.
  throw response.status === 504 ? new Error(message) : new SmsRefused(message);
}
