import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Router, type RequestHandler } from "express";
import helmet from "helmet";
// the package itself would load the browser's scripts into this process
import swaggerFolder from "swagger-ui-dist/absolute-path.js";

const headers = helmet({
  contentSecurityPolicy: {
    directives: {
      "style-src": ["'self'", "'unsafe-inline'"],
      "img-src": ["'self'", "data:"],
      "upgrade-insecure-requests": null,
    },
  },
  // the same for all addresses (api/app.ts)
  strictTransportSecurity: false,
});

const pageFolder = fileURLToPath(new URL("docs-page", import.meta.url));

/** The files of the page, by their folders; they are read when they are asked for. */
const files = [
  [pageFolder, ["page.css", "page.js"]],
  [swaggerFolder(), ["swagger-ui.css", "swagger-ui-bundle.js"]],
] as const;

/**
 * The reference: the OpenAPI document in Swagger UI with a search and a login, and the page of errors, which is made when it is first
 * asked for; nothing is loaded from other hosts.
 */
export function docs(writeErrors: () => string): Router {
  const docs = Router();
  let errors: string | undefined;
  docs.use(headers);
  docs.get("/", (_request, response) => response.sendFile(join(pageFolder, "index.html")));
  docs.get("/errors", (_request, response) => {
    response.type("html").send((errors ??= writeErrors()));
  });
  for (const [folder, names] of files)
    for (const name of names)
      docs.get(`/${name}`, (_request, response) => response.sendFile(join(folder, name), { maxAge: "1h" }));
  return docs;
}

/** Leads a browser that asks for the service's own address to the reference. */
export const leadToDocs: RequestHandler = (request, response, next) => {
  response.vary("Accept");
  if (request.accepts(["json", "html"]) === "html") response.redirect("/docs");
  else next();
};
