import { IncomingMessage, ServerResponse } from "node:http";
import type { Express } from "express";

/**
 * Returns options for an HTTP server that creates its requests and responses with the prototypes of `app`. Express
 * replaces the prototypes of each request and response; V8 then stops optimising these objects and collects them slowly,
 * which costs more than the rest of Express. With these options the replacement changes nothing.
 */
export function messageClasses(app: Express) {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
