import type { PosAdapter } from "./adapter.js";
import { generic } from "./generic.js";
import { iiko } from "./iiko.js";
import { poster } from "./poster.js";
import { square } from "./square.js";

/** Every POS that partners can connect. */
export const adapters: readonly PosAdapter[] = [square(), poster(), iiko(), generic()];

export const findAdapter = (name: string): PosAdapter | undefined => adapters.find((adapter) => adapter.name === name);
