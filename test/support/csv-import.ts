import { afterAll, beforeEach } from "@jest/globals";
import { menuImport } from "../../queues/index.js";
import { importMenu } from "../../workers/menu-import.js";
import { startApi, type Client, type Reply } from "./api.js";
import * as cast from "./cast.js";
import { disconnect, startQueueWorker } from "./queue-worker.js";

// The set-up of tests of the CSV import: the API, a worker, and a new bakery for each test.

export const api = await startApi();
const worker = startQueueWorker(menuImport, importMenu, 4);

export let bakery: cast.Bakery;
export let owner: Client;

beforeEach(async () => {
  bakery = await cast.bakery(api.client);
  owner = bakery.owner.client;
});

afterAll(async () => {
  await api.stop();
  await worker.stop();
  await disconnect();
});

export const path = "/api/v1/menu/import/csv";
export const send = (file: string | Uint8Array, contentType = "text/csv", as = owner) =>
  as.send("post", path, file, { headers: { "content-type": contentType } });
export const result = async (reply: Reply) => (await owner.get(`${path}/${reply.string("importId")}`)).body;
export const counts = ({ body: { created, updated, failed } }: Reply) => [created, updated, failed];
export const items = async (query = "") => (await owner.get(`/api/v1/menu/items?limit=200${query}`)).list;

export const head = "name,category,price";
export const fullHead = "externalId,name,category,price,description,weightGrams,available";
