import { z } from "zod";
import type { WebhookCall } from "../../../../lib/pos/adapter.js";

/** The call with other headers; an undefined one is removed. */
export const others = (call: WebhookCall, headers: WebhookCall["headers"]): WebhookCall => ({
  ...call,
  headers: { ...call.headers, ...headers },
});
export const without = (call: WebhookCall, name: string): WebhookCall => others(call, { [name]: undefined });
export const bodied = (call: WebhookCall, body: Buffer | string): WebhookCall => ({ ...call, body: Buffer.from(body) });

/** Forged calls by what is wrong with them; they use the deployment's secrets unless others are given. */
export type Forgeries = Record<string, WebhookCall | [call: WebhookCall, secrets: string[]]>;

/** What may be wrong with a header that is signed or signs. */
export function headerForgeries(call: WebhookCall, name: string): Forgeries {
  const value = String(call.headers[name]);
  return {
    [`no ${name}`]: without(call, name),
    [`an empty ${name}`]: others(call, { [name]: "" }),
    [`a blank ${name}`]: others(call, { [name]: " " }),
    [`${name} as a list`]: others(call, { [name]: [value] }),
    [`${name} truncated`]: others(call, { [name]: value.slice(0, -1) }),
    [`${name} too long`]: others(call, { [name]: `${value}x` }),
    [`${name} twice`]: others(call, { [name]: `${value},${value}` }),
    [`${name} in capitals`]: others(call, { [name]: `${value.toUpperCase()} ` }),
  };
}

/** What may be wrong with a body that is signed, an object. */
export function bodyForgeries(call: WebhookCall): Forgeries {
  const text = call.body.toString();
  const event = z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  return {
    "a body with other whitespace": bodied(call, JSON.stringify(event, null, 1)),
    "a body in another order": bodied(call, JSON.stringify(Object.fromEntries(Object.entries(event).reverse()))),
    "a body with a trailing space": bodied(call, `${text} `),
    "a body with a byte order mark": bodied(call, `\ufeff${text}`),
    "a body truncated": bodied(call, text.slice(0, -1)),
    "no body": bodied(call, ""),
    "another body": bodied(
      call,
      text.replace(/[0-9a-f]/, (one) => (one === "1" ? "2" : "1")),
    ),
  };
}

/** The right call, for a deployment with other secrets. */
export const secretForgeries = (call: WebhookCall, another: string): Forgeries => ({
  "no secret": [call, []],
  "an empty secret": [call, [""]],
  "another account's secret": [call, [another]],
  "a former secret": [call, [another, `${another}x`]],
});
