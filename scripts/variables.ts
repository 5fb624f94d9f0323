import { z } from "zod";
import { environment } from "../lib/process/environment.js";
import { between, markdownTable } from "./markdown.js";

interface Variable {
  name: string;
  description: string;
  required: boolean;
  /** The default, as written in the environment; empty when there is none. */
  value: string;
}

const Property = z.object({
  description: z.string({ error: "needs a description" }),
  default: z.union([z.string(), z.number()]).default(""),
});

/** Every variable that the service reads, from the schema that validates them. */
function variables(): Variable[] {
  const { properties = {}, required = [] } = z.toJSONSchema(environment, { io: "input" });
  return Object.entries(properties).map(([name, property]) => {
    const { description, default: value } = Property.parse(property);
    return { name, description, required: required.includes(name), value: String(value) };
  });
}

/** The variables as a Markdown table. */
export function variablesTable(): string {
  const rows = variables().map(({ name, description, required, value }) => {
    const shown = required ? "required" : value && `\`${value}\``;
    return [`\`${name}\``, shown, description];
  });
  return markdownTable(["Variable", "Default", "What it is"], rows);
}

/** The variables as a file for `.env`, each commented out with its default. */
export function variablesExample(): string {
  const entries = variables().map(({ name, description, required, value }) => {
    const shown = /["{ ]/.test(value) ? `'${value}'` : value;
    return `# ${description}${required ? " (required)" : ""}\n#${name}=${shown}\n`;
  });
  return `# Copy this to .env and uncomment what you change; the values are the defaults of a deployment. \`npm start\` makes the required\n# ones itself, listens on 127.0.0.1 and has a fixed login code, unless HOST and OTP_FIXED_CODE are set.\n\n${entries.join("\n")}`;
}

/** The page that has the table. */
export const pagePath = "scripts/ops/configuration.md";

const tableStart = "<!-- variables: `npm run variables` writes this table -->\n\n";
const tableEnd = "\n\n<!-- end of variables -->";

/** Returns the page with the table of variables between its two marks. */
export const withVariablesTable = (page: string): string => between(page, tableStart, tableEnd, variablesTable());
