import { get, type RequestOptions } from "node:http";

/** Sends a request; resolves when its response has ended, with the status, or with 0 without a response. */
export const getStatus = (url: string, options: RequestOptions) =>
  new Promise<number>((resolve) => {
    const request = get(url, options, (response) => {
      response.once("close", () => resolve(response.complete ? (response.statusCode ?? 0) : 0));
      response.resume();
    });
    request.once("error", () => resolve(0));
  });
