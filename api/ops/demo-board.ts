import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Router } from "express";
import helmet from "helmet";

/** Not an asset of the build, because the board is for development only. */
const page = join(dirname(fileURLToPath(import.meta.url)), "../../scripts/demo/board.html");

/** Returns the Content-Security-Policy source that allows exactly this script or style. */
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const contentOf = (html: string, tag: "script" | "style") =>
  new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, "s").exec(html)?.[1] ?? "";

/** Serves a partner's order board in one file, an example of the API in a browser. For development only, like its package. */
export function demoBoard(): Router {
  const demo = Router();
  demo.get("/board", async (request, response, next) => {
    // read for each request, so that an edit shows after a reload
    const html = await readFile(page, "utf8");
    const policy = helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          "default-src": ["'none'"],
          "script-src": ["'self'", hashOf(contentOf(html, "script"))],
          "style-src": [hashOf(contentOf(html, "style"))],
          "img-src": ["data:"],
          "connect-src": ["'self'"],
          "base-uri": ["'none'"],
          "form-action": ["'none'"],
          "frame-ancestors": ["'none'"],
        },
      },
      strictTransportSecurity: false,
    });
    policy(request, response, (error?: unknown) => {
      if (error === undefined) response.set("Cache-Control", "no-store").type("html").send(html);
      else next(error);
    });
  });
  demo.get("/qr.js", (_request, response) => {
    response.sendFile(createRequire(import.meta.url).resolve("qr"));
  });
  return demo;
}
