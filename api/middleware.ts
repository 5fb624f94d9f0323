import type { Request, RequestHandler, Response } from "express";

/** Runs an Express middleware as a step of a function: resolves when it passes the request on, rejects with what it refuses it for. */
export const runMiddleware = (middleware: RequestHandler, request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    const next = (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error(String(error)));
    };
    void Promise.resolve(middleware(request, response, next)).catch(reject);
  });
