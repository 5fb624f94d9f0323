import express, { Router, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { ApiError } from "../../../lib/process/errors.js";
import { contracts } from "../../../queues/index.js";
import { sql } from "../../../sql/db.js";
import { insertAuditEvent } from "../../../sql/queries/audit-events.js";
import { codePage, phonePage, signOutPage } from "./pages.js";
import { guardPages, isRead, requireAdmin, requireOperator } from "./guard.js";
import { clientOf, findOperator, root, signIn, signOut } from "./session.js";
import { limitRequests } from "../../http/limits.js";
import { refusalWith } from "../../http/refusal.js";
import { Phone } from "../../http/schemas.js";
import { changeQueue } from "../../common/operate.js";
import { sendCode } from "../../common/sign-in.js";

/** What admins may do to queues, with the name of its audit event. All other changes that bull-board offers are refused. */
const actions: Readonly<Record<string, string>> = {
  "/api/queues/:queue/retry/:status": "QUEUE_RETRY_JOBS",
  "/api/queues/:queue/clean/:status": "QUEUE_CLEAN_JOBS",
  "/api/queues/:queue/promote": "QUEUE_PROMOTE_JOBS",
  "/api/queues/:queue/:job/retry": "QUEUE_RETRY_JOB",
  "/api/queues/:queue/:job/clean": "QUEUE_CLEAN_JOB",
  "/api/queues/:queue/:job/promote": "QUEUE_PROMOTE_JOB",
};

const audit =
  (action: string): RequestHandler =>
  async (request, response, next) => {
    const actorId = String(response.locals["operatorId"]);
    const details = z.record(z.string(), z.string()).parse(request.params);
    await insertAuditEvent(sql, { actorId, action, details });
    next();
  };

/** Pauses a queue, or resumes it, in Postgres too: workers would undo a pause that only the broker knows, or a wipe would. */
const setPaused =
  (paused: boolean): RequestHandler =>
  async ({ params }, response, next) => {
    const contract = contracts.find(({ queue }) => queue === params["queue"]);
    const by = { actorId: String(response.locals["operatorId"]), why: "on the dashboard" };
    if (contract) await changeQueue(contract.queue, { paused }, by);
    next();
  };

// the board shows `error` and `message` to its user
const refusedAction = {
  error: { key: "ERRORS.FORBIDDEN" },
  message: "Jobs can be retried, cleaned and promoted, and queues paused; nothing can be added or edited.",
};
const actionRefused = refusalWith(403, "FORBIDDEN", "ACTION_REFUSED", {
  detail: refusedAction.message,
  remedy: "Use the actions that the dashboard allows.",
  facts: { error: z.object({ key: z.string() }), message: z.string() },
  example: refusedAction,
});

const refuseOtherActions: RequestHandler = (request, _response, next) => {
  next(isRead(request) ? undefined : actionRefused(refusedAction));
};

const SignInPhone = z.object({
  phone: z
    .string()
    .transform((phone) => phone.replace(/[\s()-]/g, ""))
    .pipe(Phone),
});
const SignInCode = SignInPhone.extend({ code: z.string().trim().max(32) });

// loaded by the first request of an admin: few processes are asked
const board: RequestHandler = async (request, response, next) => {
  const { showBoard } = await import("./board.js");
  await showBoard(request, response, next);
};

/** The page that a caller wanted before the sign-in: of the queues, for admins, or of the console, and nothing else. */
function wanted({ query: { to } }: Request, isAdmin = true): string {
  const path = typeof to === "string" && /^\/admin\/(ops|queues)(?![^/?])/.test(to) ? to : root;
  return isAdmin || path.startsWith("/admin/ops") ? path : "/admin/ops";
}

/** The address that a form of the sign-in is sent to, below which the code is. */
const signInAt = (request: Request) => ({
  path: `${root}/sign-in`,
  query: `?${new URLSearchParams({ to: wanted(request) }).toString()}`,
});

const readForm = express.urlencoded({ extended: false, limit: 2_000 });

/** Handles a form: runs `act` on its fields, and shows a refusal on the page that `again` returns. */
const onForm =
  <T>(
    Fields: z.ZodType<T>,
    act: (fields: T, request: Request, response: Response) => Promise<void>,
    again: (request: Request, fields: T, refusal: ApiError) => string,
  ): RequestHandler =>
  async (request, response) => {
    const fields = Fields.safeParse(request.body);
    if (!fields.success) {
      response.status(400).send(phonePage(signInAt(request), "A phone is +7 followed by 10 digits."));
      return;
    }
    try {
      limitRequests(request, response, null);
      await act(fields.data, request, response);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      response.status(error.status).send(again(request, fields.data, error));
    }
  };

const pages = Router();

pages.use(guardPages(root));

pages.get("/sign-in", async (request, response) => {
  const operator = await findOperator(request);
  if (operator?.mayLook) response.redirect(303, wanted(request, operator.isAdmin));
  else response.send(phonePage(signInAt(request)));
});

pages.post(
  "/sign-in",
  readForm,
  onForm(
    SignInPhone,
    async ({ phone }, request, response) => {
      await sendCode(phone, clientOf(request), String(response.getHeader("x-request-id")));
      response.send(codePage(signInAt(request), phone));
    },
    (request, _fields, refusal) => phonePage(signInAt(request), refusal.message),
  ),
);

pages.post(
  "/sign-in/code",
  readForm,
  onForm(
    SignInCode,
    async ({ phone, code }, request, response) => {
      const { isAdmin } = await signIn(request, response, phone, code);
      response.redirect(303, wanted(request, isAdmin));
    },
    (request, { phone }, refusal) =>
      refusal.code === "INVALID_CODE"
        ? codePage(signInAt(request), phone, refusal.message)
        : phonePage(signInAt(request), refusal.message),
  ),
);

pages.post("/sign-out", async (request, response) => {
  await signOut(request, response);
  response.redirect(303, `${root}/sign-in`);
});

pages.get("/sign-out", requireOperator, (_request, response) => {
  response.send(signOutPage(root));
});
pages.use(requireAdmin);
pages.put("/api/queues/:queue/pause", setPaused(true), board);
pages.put("/api/queues/:queue/resume", setPaused(false), board);
for (const [path, action] of Object.entries(actions)) pages.put(path, audit(action), board);
pages.use(refuseOtherActions, board);

/** The queue dashboard, for admins who sign in with their phone. Nothing is loaded from other hosts. */
export const dashboard = Router().use(root, pages);
