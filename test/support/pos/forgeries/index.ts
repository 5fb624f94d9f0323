import type { AdapterName } from "../../../../lib/domain/adapter-names.js";
import type { startGenericPos } from "../generic.js";
import type { startIiko } from "../iiko.js";
import type { startPoster } from "../poster.js";
import type { startSquare } from "../square.js";
import { forgeriesOfGeneric } from "./generic.js";
import type { Forgeries } from "./forgery.js";
import { forgeriesOfIiko } from "./iiko.js";
import { forgeriesOfPoster } from "./poster.js";
import { forgeriesOfSquare } from "./square.js";

interface Servers {
  square: Awaited<ReturnType<typeof startSquare>>;
  poster: Awaited<ReturnType<typeof startPoster>>;
  iiko: Awaited<ReturnType<typeof startIiko>>;
  generic: Awaited<ReturnType<typeof startGenericPos>>;
}

/** Forged calls to a deployment at the address `to`, at the time `now`. */
export const forgeriesOf = (vendors: Servers, to: string, now: Date): Record<AdapterName, Forgeries> => ({
  square: forgeriesOfSquare(vendors.square, `${to}/api/v1/pos/webhooks/square`),
  poster: forgeriesOfPoster(vendors.poster),
  iiko: forgeriesOfIiko(vendors.iiko),
  generic: forgeriesOfGeneric(vendors.generic, now),
});
