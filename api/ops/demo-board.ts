import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Router } from "express";
import helmet from "helmet";

/** No asset of the build, which is not for development. */
const page = join(dirname(fileURLToPath(import.meta.url)), "../../scripts/demo/board.html");

/** Returns the source for a policy that lets exactly this text run, or apply. */
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const contentOf = (html: string, tag: "script" | "style") =>
  new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, "s").exec(html)?.[1] ?? "";

/** A partner's order board in one file, an example of the API in a browser; for development, as its package is. */
export function demoBoard(): Router {
  const demo = Router();
  demo.get("/board", async (request, response, next) => {
    // read again, as it may be being written
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
