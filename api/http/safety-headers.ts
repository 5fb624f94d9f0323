import { config } from "../../lib/process/config.js";

/** The headers that every response has: browsers do not guess its type, and come back by https once they have used it. */
export const safetyHeaders: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  ...(config.PUBLIC_URL.startsWith("https:") && { "Strict-Transport-Security": "max-age=31536000" }),
};
