import type { Endpoint } from "../http/declaration.js";
import { refusalsOf } from "../http/openapi.js";
import { declaredRefusals, type Refusal } from "../http/refusal.js";
import { escape } from "./console/html.js";

/** A reason that more endpoints may answer than these is one of any endpoint. */
const MANY = 20;

/** Text with `code` in it. */
const rich = (text: string) => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");

function entryOf({ reason, status, code, remedy, facts, example }: Refusal, answeredBy: readonly string[]): string {
  const named = answeredBy.map((name) => `<code>${escape(name)}</code>`);
  const where = named.length > MANY ? `${named.length} endpoints` : named.join(", ") || "no endpoint of the API itself";
  return `<section id="${reason}">
<h2><a href="#${reason}">${reason}</a></h2>
<p><strong>${status} ${code}.</strong> ${escape(String(example["detail"]))}</p>
<p>${rich(remedy)}</p>
${facts.length > 0 ? `<p>Facts: ${facts.map((name) => `<code>${name}</code>`).join(", ")}.</p>` : ""}
<p>Answered by ${where}.</p>
<pre>${escape(JSON.stringify(example, null, 2))}</pre>
</section>`;
}

/** Returns the page to which the `type` of every error leads: its cause, its remedy and the endpoints that answer it. */
export function errorsPage(endpoints: readonly Endpoint[]): string {
  const answering = new Map<string, string[]>();
  for (const endpoint of endpoints)
    for (const { reason } of refusalsOf(endpoint))
      answering.set(reason, [
        ...(answering.get(reason) ?? []),
        `${endpoint.method.toUpperCase()} ${endpoint.path.replace(/:(\w+)/g, "{$1}")}`,
      ]);
  const sorted = declaredRefusals();
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Surplus-food marketplace: errors</title>
<link rel="icon" href="data:,">
<style>
body { font-family: system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.5; overflow-wrap: anywhere; }
section { border-top: 1px solid #8888; }
section:target { background: #fe83; }
pre { overflow-x: auto; padding: 0.5rem; background: #8881; }
h2 { font-size: 1.1rem; }
</style>
</head>
<body>
<h1>Errors</h1>
<p>Every error is a problem document (RFC 9457). Programs decide by its <code>code</code>, and more exactly by its
<code>reason</code>; new reasons may be added to a code. <code>detail</code> is for people, and its wording may change.
<a href="/docs">The endpoints</a></p>
${sorted.map((each) => entryOf(each, answering.get(each.reason) ?? [])).join("\n")}
</body>
</html>
`;
}
