import { existsSync } from "node:fs";

/**
 * Sets the variables of a file that are not set yet. An address and the way around its pooler lead to one database, so with
 * DATABASE_URL from elsewhere the file's DATABASE_DIRECT_URL is left out.
 */
export function loadEnvFile(file: string): void {
  if (!existsSync(file)) return;
  if (process.env["DATABASE_URL"] !== undefined) process.env["DATABASE_DIRECT_URL"] ??= "";
  process.loadEnvFile(file);
}
