import { readFileSync } from "node:fs";
import { join } from "node:path";
import express, { Router } from "express";
import helmet from "helmet";
// the package itself would load the browser's scripts into this process
import assetsFolder from "swagger-ui-dist/absolute-path.js";

const initializer = `window.ui = SwaggerUIBundle({
  url: "/api/v1/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  presets: [SwaggerUIBundle.presets.apis],
});`;

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

const title = "Surplus-food marketplace: the API";
const page = readFileSync(join(assetsFolder(), "index.html"), "utf8").replace(
  /<title>.*<\/title>/,
  `<title>${title}</title>`,
);
/** The OpenAPI document in Swagger UI, and the page of errors; nothing is loaded from other hosts. */
export function docs(errors: string): Router {
  const docs = Router();
  docs.use(headers);
  docs.get("/errors", (_request, response) => {
    response.type("html").send(errors);
  });
  docs.get("/swagger-initializer.js", (_request, response) => {
    response.type("application/javascript").send(initializer);
  });
  docs.get(["/", "/index.html"], (request, response, next) => {
    // the page's addresses are relative to `/docs/`
    if (!/\/docs(\?|$)/.test(request.originalUrl)) response.type("html").send(page);
    else next();
  });
  docs.use(express.static(assetsFolder(), { maxAge: "1h" }));
  return docs;
}
