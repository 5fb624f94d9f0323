import { tsImport } from "tsx/esm/api";

/** Jest itself loads its hooks and its environment, and it loads JavaScript only: this is where they meet ours. */
export const databases = await tsImport("./databases.ts", import.meta.url);
