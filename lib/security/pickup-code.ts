import { randomDigits } from "./crypto.js";

/** Returns a code for a new order: six digits, by which its customer gets it at pickup. */
export const newPickupCode = (): string => randomDigits(6);
