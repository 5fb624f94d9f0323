import { tsImport } from "tsx/esm/api";

/** Jest loads its hooks and environment itself, and only as JavaScript; this module gives them access to TypeScript. */
export const databases = await tsImport("./databases.ts", import.meta.url);
