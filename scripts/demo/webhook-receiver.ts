import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const textsOf = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/**
 * Receives an endpoint's events, and accepts those that its secret signed in the last five minutes. `store` inserts an
 * event under its id unless it exists, and leaves the processing for later, because it has 15 seconds. When it fails, the
 * event is sent again.
 */
export const webhookReceiver =
  (secret: string, store: (id: string, event: unknown) => Promise<void>): RequestListener =>
  (request, response) => {
    const webhook = new Webhook(secret);
    const take = async (): Promise<number> => {
      const body = await buffer(request);
      let event: unknown;
      try {
        event = webhook.verify(body, textsOf(request.headers));
      } catch {
        return 401;
      }
      await store(String(request.headers["webhook-id"]), event);
      return 204;
    };
    void take()
      .catch(() => 500)
      .then((status) => response.writeHead(status).end());
  };
