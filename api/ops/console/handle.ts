import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { answerTo } from "../../http/errors.js";
import { text } from "../../http/schemas.js";
import { refusalPage, type Page } from "./frame.js";

/** What the console's pages and forms share: how they are read, answered and refused. */

/** A field of a form that is left empty is null. */
export const orEmpty = <S extends z.ZodType>(field: S) =>
  z
    .literal("")
    .transform(() => null)
    .or(field)
    .optional()
    .transform((value) => value ?? null);

/** A form's local time is meant as UTC, which the pages show. */
export const Time = z
  .string()
  .transform((at) => new Date(/(Z|[+-]\d\d:\d\d)$/.test(at) ? at : `${at}Z`))
  .refine((at) => at.getUTCFullYear() >= 2000 && at.getUTCFullYear() < 2200, "must be a time between 2000 and 2200");

/** What every form has that does something. */
export const Consent = z.object({ why: text(500), sure: z.literal("on") });
/** The number that a form has changed, in the address that it leads to. */
export const Changed = z.object({ changed: orEmpty(z.coerce.number().int()) });
export const IdParams = z.object({ id: z.uuid() });

export const operatorOf = (response: Response) => String(response.locals["operatorId"]);
export const by = (response: Response, { why }: { why: string }) => ({ actorId: operatorOf(response), why });

const mayActOf = (response: Response) => response.locals["mayAct"] === true;

/** Says on a page why a request was refused or failed. Express recognises an error handler by its four parameters. */
export const explain: ErrorRequestHandler = (error: unknown, request, response, _next) => {
  const invalid = error instanceof z.ZodError;
  const { status, message } = invalid
    ? { status: 400, message: z.prettifyError(error) }
    : answerTo(request, response, error);
  response.status(status).send(refusalPage(message)(mayActOf(response)));
};

/** Handles a request for a page. */
export const shows =
  (make: (request: Request, response: Response) => Promise<Page>): RequestHandler =>
  async (request, response) => {
    response.send((await make(request, response))(mayActOf(response)));
  };

export const readForm = express.urlencoded({ extended: false, limit: 8_000 });

/** Handles a form, and leads to the page that `act` returns, so that loading it again does nothing again. */
export const acts = (act: (request: Request, response: Response) => Promise<string>): RequestHandler[] => [
  readForm,
  async (request, response) => {
    response.redirect(303, await act(request, response));
  },
];
