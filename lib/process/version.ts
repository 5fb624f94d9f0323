import { createRequire } from "node:module";
import { z } from "zod";

/** This release's version, from `package.json`; the name `#package.json` finds it from the sources and from `dist`. */
export const { version } = z
  .object({ version: z.string().min(1) })
  .parse(createRequire(import.meta.url)("#package.json"));
