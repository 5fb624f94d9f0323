import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import type { AppViewRoute } from "@bull-board/api/typings/app";
import { ExpressAdapter } from "@bull-board/express";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { withTimeout } from "../../../lib/process/with-timeout.js";
import type { BrokerQueue } from "../../../queues/broker.js";
import { refusalWith } from "../../http/refusal.js";
import { retryFacts } from "../../http/refusals.js";
import { loadBroker } from "../broker.js";
import { root } from "./session.js";

const brokerLimitMs = 2_000;

/** bull-board as an Express handler. */
class Board extends ExpressAdapter {
  constructor() {
    super();
    this.app.disable("x-powered-by");
  }

  readonly handle: RequestHandler = (request, response, next) => {
    this.app(request, response, next);
  };

  /** Removes links to fonts on other hosts: the dashboard loads nothing from elsewhere. */
  override setEntryRoute(entry: AppViewRoute): this {
    this.app[entry.method](entry.route, (_request, response, next) => {
      const { name, params } = entry.handler({ basePath: this.basePath, uiConfig: this.uiConfig });
      response.render(name, params, (error: Error | null, html: string) => {
        if (error) next(error);
        else response.send(html.replace(/<link [^>]*href="https?:[^>]*>/g, ""));
      });
    });
    return this;
  }
}

const serverAdapter = new Board();
serverAdapter.setBasePath(root);

const { replaceQueues } = createBullBoard({
  queues: [],
  serverAdapter,
  options: {
    uiConfig: {
      boardTitle: "Queues",
      hideDocsLink: true,
      hideRedisDetails: true,
      miscLinks: [
        { text: "Console", url: "/admin/ops" },
        { text: "Sign out", url: `${root}/sign-out` },
      ],
    },
  },
});

const { openQueues, pingBroker } = await loadBroker();

let shown: BrokerQueue[] = [];

/** Updates the board's queues: they are opened on the first request, and reopened when the broker was unreachable then. */
function refresh(): void {
  const queues = openQueues();
  if (queues.length === shown.length && queues.every((queue, index) => queue === shown[index])) return;
  replaceQueues(queues.map((queue) => new BullMQAdapter(queue)));
  shown = queues;
}

const unreachable = {
  retryAfterSeconds: 5,
  error: { key: "ERRORS.REDIS_UNAVAILABLE" },
  message: "The queues are not reachable; jobs wait in the database until they are.",
};
const queuesUnreachable = refusalWith(503, "UNAVAILABLE", "QUEUES_UNREACHABLE", {
  detail: unreachable.message,
  remedy: "Look whether the broker runs; nothing is lost meanwhile.",
  facts: { ...retryFacts, error: z.object({ key: z.string() }), message: z.string() },
  example: unreachable,
});

/** Throws 503 when the broker is unreachable; a queue that never connected would wait until it does. */
async function requireBroker(): Promise<void> {
  await withTimeout(brokerLimitMs, pingBroker()).catch(() => {
    throw queuesUnreachable(unreachable);
  });
}

/** The pages of all queues. It checks no permissions: its router does. */
export async function showBoard(request: Request, response: Response, next: NextFunction): Promise<void> {
  if (request.path.startsWith("/api/")) {
    await requireBroker();
    refresh();
  }
  serverAdapter.handle(request, response, next);
}
