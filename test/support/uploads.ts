import { afterAll } from "@jest/globals";
import { images } from "../../queues/index.js";
import { convertUpload } from "../../workers/images.js";
import { startApi, type Client } from "./api.js";
import * as cast from "./cast.js";
import { fileForm } from "./pictures.js";
import { disconnect, startQueueWorker } from "./queue-worker.js";

// The set-up of tests of uploads: the API, two users and a worker that converts images.

export const api = await startApi();
export const anna = await cast.user(api.client);
export const boris = await cast.user(api.client);
const worker = startQueueWorker(images, convertUpload, 2);

afterAll(async () => {
  await api.stop();
  await worker.stop();
  await disconnect();
});

export const path = "/api/v1/files/upload";

export const upload = (bytes: Uint8Array, type: string, as: Client = anna.client) =>
  as.post(path, fileForm(bytes, type));

/** The local URL for an address that the API returned. */
export const here = (address: unknown) => {
  const { pathname, search } = new URL(String(address));
  return api.client.url + pathname + search;
};
