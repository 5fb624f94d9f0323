import type { AdapterName } from "../domain/adapter-names.js";
import type { PosAdapter } from "./adapter.js";
import { generic } from "./generic.js";
import { iiko } from "./iiko.js";
import { poster } from "./poster.js";
import { square } from "./square.js";

const byName = { square: square(), poster: poster(), iiko: iiko(), generic: generic() } satisfies Record<
  AdapterName,
  PosAdapter
>;

/** Every POS that partners can connect. */
export const adapters: readonly PosAdapter[] = Object.values(byName);

const vendors = adapters.flatMap(({ address }) => (address === null ? [] : [new URL(address).origin]));

/** Whether an origin is a vendor's, and so not a server of one partner. */
export const isVendor = (origin: string): boolean => vendors.includes(origin);

export const findAdapter = (name: string): PosAdapter | undefined => adapters.find((adapter) => adapter.name === name);
