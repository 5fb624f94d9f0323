import { IncomingMessage, ServerResponse } from "node:http";
import type { Express } from "express";

/**
 * The options of an HTTP server that makes its requests and responses as what they are to `app` in the end. Express
 * itself exchanges the prototypes of every one of them; V8 then gives up optimising them, and collecting them is slow:
 * that is more than everything else that Express does. With these, what it exchanges is what is there.
 */
export function messagesOf(app: Express) {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
