import express, { type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { ApiError } from "../../../lib/process/errors.js";
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
  .refine((at) => !Number.isNaN(at.getTime()), "must be a time");

/** What every form has that does something. */
export const Consent = z.object({ why: text(500), sure: z.literal("on") });
/** The number that a form has changed, in the address that it leads to. */
export const Changed = z.object({ changed: orEmpty(z.coerce.number().int()) });
export const IdParams = z.object({ id: z.uuid() });

export const operatorOf = (response: Response) => String(response.locals["operatorId"]);
export const by = (response: Response, { why }: { why: string }) => ({ actorId: operatorOf(response), why });

const mayActOf = (response: Response) => response.locals["mayAct"] === true;

/** Shows invalid input and refusals on a page. */
const explains =
  (handle: (request: Request, response: Response) => Promise<void>): RequestHandler =>
  async (request, response) => {
    try {
      await handle(request, response);
    } catch (error) {
      if (error instanceof z.ZodError)
        response.status(400).send(refusalPage(z.prettifyError(error))(mayActOf(response)));
      else if (error instanceof ApiError)
        response.status(error.status).send(refusalPage(error.message)(mayActOf(response)));
      else throw error;
    }
  };

/** Handles a request for a page. */
export const shows = (make: (request: Request, response: Response) => Promise<Page>): RequestHandler =>
  explains(async (request, response) => {
    response.send((await make(request, response))(mayActOf(response)));
  });

export const readForm = express.urlencoded({ extended: false, limit: 8_000 });

/** Handles a form, and leads to the page that `act` returns. */
export const acts = (act: (request: Request, response: Response) => Promise<string>): RequestHandler[] => [
  readForm,
  explains(async (request, response) => {
    response.redirect(303, await act(request, response));
  }),
];
