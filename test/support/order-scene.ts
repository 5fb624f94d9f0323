import { afterAll } from "@jest/globals";
import { closeDatabase } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { startApi } from "./api.js";
import { bakery, user } from "./cast.js";

// The set-up of tests about placing orders: the API, a customer and a shop.

export const { client, stop } = await startApi();
export const anna = await user(client);
export const shop = await bakery(client);

afterAll(async () => {
  await stop();
  await closeSignals();
  await closeDatabase();
});
