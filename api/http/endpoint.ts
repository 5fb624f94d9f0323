import { Router } from "express";
import { z } from "zod";
import type { Answer, Declaration, Endpoint, Input, Method, Schema } from "./declaration.js";
import { requestHandler } from "./handle.js";
import { notFound, type InvalidCode } from "./refusals.js";
import { Id } from "./schemas.js";
import type { Tag } from "./tags.js";

export interface Ok<B> {
  status: 200;
  body: B;
  headers: Record<string, string>;
}

export const ok = <B>(body: B, headers: Record<string, string> = {}): Ok<B> => ({ status: 200, body, headers });
export const created = <B>(body: B, location?: string) => ({
  status: 201 as const,
  body,
  ...(location !== undefined && { headers: { Location: location } }),
});
export const accepted = <B>(body: B, location: string) => ({
  status: 202 as const,
  body,
  headers: { Location: location },
});
export const noContent = () => ({ status: 204 as const });

/** Returns the row that a query found; throws 404 without one. */
export function found<Row>(row: Row | null | undefined, what: string): Row {
  if (row === null || row === undefined) throw notFound(what);
  return row;
}

/** A member that no declaration has is refused, as it would be in a literal. */
type Declare = <Path extends string, D extends Declaration>(
  path: Path,
  declaration: D & Record<Exclude<keyof D, keyof Declaration>, never>,
  handler: (input: Input<Path, D>) => Promise<Answer<D["answers"]>>,
) => void;

export interface Section extends Record<Method, Declare> {
  prefix: string;
  router: Router;
  endpoints: Endpoint[];
}

/** The parameters of a path, as ids. */
function idsIn(path: string): { params?: Schema } {
  const ids = Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => [name, Id] as const);
  return ids.length === 0 ? {} : { params: z.object(Object.fromEntries(ids)) };
}

interface SectionOptions {
  prefix: string;
  tag: Tag;
  /** The error code for an invalid body or query. */
  invalid?: InvalidCode;
}

/** Declares a group of endpoints under one path. */
export function section({ prefix, tag, invalid = "VALIDATION_ERROR" }: SectionOptions): Section {
  const router = Router();
  const endpoints: Endpoint[] = [];

  const declare =
    (method: Method): Declare =>
    (path, declaration, handler) => {
      const endpoint: Endpoint = {
        ...idsIn(path),
        ...declaration,
        method,
        path: `/api/v1${prefix}${path === "/" ? "" : path}`,
        tag,
        invalid,
      };
      endpoints.push(endpoint);
      router[method](path, requestHandler(endpoint, handler));
    };

  return {
    prefix,
    router,
    endpoints,
    get: declare("get"),
    post: declare("post"),
    put: declare("put"),
    patch: declare("patch"),
    delete: declare("delete"),
  };
}
