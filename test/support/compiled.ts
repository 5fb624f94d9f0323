import { join } from "node:path";

/** Returns the compiled form of a program, by its path in this project. */
export const compiled = (path: string): string =>
  join(process.env["TEST_PROGRAMS"] ?? "", "dist", path.replace(/\.ts$/, ".js"));
