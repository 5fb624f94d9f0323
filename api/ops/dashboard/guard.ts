import type { Request, RequestHandler } from "express";
import helmet from "helmet";
import { limitRequests } from "../../http/limits.js";
import { refusal } from "../../http/refusal.js";
import { adminsOnly, tokenMissing } from "../../http/refusals.js";
import { findOperator, root, type Operator } from "./session.js";

/** What guards the pages of operators: their headers, their origin, and who may see them. */

export const isRead = ({ method }: Request) => method === "GET" || method === "HEAD";
const isPage = (request: Request) => isRead(request) && !/^\/(api|static)\//.test(request.path);

const otherOrigin = refusal(
  403,
  "FORBIDDEN",
  "OTHER_ORIGIN",
  "Queues are changed from the dashboard's own pages only.",
  "Open the dashboard in the browser.",
);

/** Refuses writes that another site makes a browser send, whatever cookie they carry. */
const refuseOtherOrigins: RequestHandler = (request, _response, next) => {
  const { origin = "", "sec-fetch-site": site } = request.headers;
  const same =
    site === undefined ? URL.canParse(origin) && new URL(origin).host === request.host : site === "same-origin";
  if (isRead(request) || same) next();
  else next(otherOrigin());
};

/** Admits these callers; redirects page requests of others to the sign-in, and refuses their other requests. */
const admit =
  (admits: (operator: Operator, request: Request) => boolean): RequestHandler =>
  async (request, response, next) => {
    const operator = await findOperator(request);
    limitRequests(request, response, operator?.id ?? null);
    if (operator && admits(operator, request)) {
      response.locals["operatorId"] = operator.id;
      response.locals["mayAct"] = operator.isAdmin;
      next();
    } else if (isPage(request)) {
      const { baseUrl, originalUrl } = request;
      const to = baseUrl === root ? "" : `?${new URLSearchParams({ to: originalUrl }).toString()}`;
      response.redirect(303, `${root}/sign-in${to}`);
    } else if (operator) next(adminsOnly("The queues are for admins."));
    else next(tokenMissing("Sign in on the dashboard first."));
  };

export const requireAdmin = admit(({ isAdmin }) => isAdmin);
/** Admins, and for reading also those who may look. */
export const requireOperator = admit(({ isAdmin, mayLook }, request) => isAdmin || (mayLook && isRead(request)));

/** Nothing on the pages comes from other hosts, no other site frames them, and no cache keeps them. */
export const guardPages = (route: string): RequestHandler[] => [
  helmet({
    contentSecurityPolicy: {
      directives: {
        "style-src": ["'self'", "'unsafe-inline'"],
        "font-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "frame-ancestors": ["'none'"],
        "upgrade-insecure-requests": null,
      },
    },
    xFrameOptions: { action: "deny" },
    // without it browsers would not send the origin of a form
    referrerPolicy: { policy: "same-origin" },
    strictTransportSecurity: false,
  }),
  (_request, response, next) => {
    response.locals["route"] = route;
    response.set("Cache-Control", "no-store");
    next();
  },
  refuseOtherOrigins,
];
