import type { Expectations } from "./scene.js";

const ops = "/api/v1/admin/ops";
const unknownId = "01890000-0000-7000-8000-000000000000";
const why = "the vendor is back";

export const operations: Expectations = {
  [`GET ${ops}`]: { ask: (as) => as.get(ops), answer: "200" },
  [`GET ${ops}/queues/:queue/minutes`]: { ask: (as) => as.get(`${ops}/queues/push/minutes`), answer: "200" },
  [`GET ${ops}/queues/:queue/backlog`]: { ask: (as) => as.get(`${ops}/queues/push/backlog`), answer: "200" },
  [`GET ${ops}/pos-events/backlog`]: { ask: (as) => as.get(`${ops}/pos-events/backlog`), answer: "200" },
  [`GET ${ops}/search`]: { ask: (as) => as.get(`${ops}/search?q=${unknownId}`), answer: "200" },
  [`GET ${ops}/orders/:id`]: { ask: (as, { orderId }) => as.get(`${ops}/orders/${orderId}`), answer: "200" },
  [`POST ${ops}/orders/:id/contact`]: {
    ask: (as, { orderId }) => as.post(`${ops}/orders/${orderId}/contact`, { why }),
    answer: "200",
  },
  [`GET ${ops}/notifications/:id`]: {
    ask: (as) => as.get(`${ops}/notifications/${unknownId}`),
    answer: "404 NOT_FOUND",
  },
  [`GET ${ops}/things/:id`]: { ask: (as) => as.get(`${ops}/things/${unknownId}`), answer: "404 NOT_FOUND" },
  [`GET ${ops}/requests/:id`]: { ask: (as) => as.get(`${ops}/requests/some-request`), answer: "200" },
  [`GET ${ops}/jobs`]: { ask: (as) => as.get(`${ops}/jobs`), answer: "200" },
  [`POST ${ops}/jobs/settle`]: {
    ask: (as) => as.post(`${ops}/jobs/settle`, { kind: "REPLAY", ids: [1], why }),
    answer: "200",
  },
  [`PATCH ${ops}/queues/:queue`]: {
    ask: (as) => as.patch(`${ops}/queues/geocode`, { concurrency: null, why }),
    answer: "200",
  },
  [`POST ${ops}/pos-events/settle`]: {
    ask: (as, { bakeryId }) => as.post(`${ops}/pos-events/settle`, { kind: "DISMISS", partnerId: bakeryId, why }),
    answer: "200",
  },
  [`GET ${ops}/webhook-endpoints`]: { ask: (as) => as.get(`${ops}/webhook-endpoints`), answer: "200" },
  [`PATCH ${ops}/webhook-endpoints/:id`]: {
    ask: (as) => as.patch(`${ops}/webhook-endpoints/${unknownId}`, { enabled: false, why }),
    answer: "404 NOT_FOUND",
  },
  [`POST ${ops}/webhook-endpoints/:id/resend`]: {
    ask: (as) => as.post(`${ops}/webhook-endpoints/${unknownId}/resend`, { since: "2026-06-01T00:00:00Z", why }),
    answer: "404 NOT_FOUND",
  },
  [`POST ${ops}/upkeep/:task/run`]: {
    ask: (as) => as.post(`${ops}/upkeep/no-shows/run`, { why }),
    answer: "202",
  },
  [`POST ${ops}/rollups/run`]: {
    ask: (as) => as.post(`${ops}/rollups/run`, { from: "2026-01-01", to: "2026-01-01", why }),
    answer: "202",
  },
  [`GET ${ops}/bulk-actions`]: { ask: (as) => as.get(`${ops}/bulk-actions`), answer: "200" },
  [`POST ${ops}/bulk-actions`]: {
    ask: (as) => as.post(`${ops}/bulk-actions`, { kind: "DISMISS", queue: "push", why }),
    answer: "202",
  },
  [`GET ${ops}/bulk-actions/:id`]: {
    ask: (as) => as.get(`${ops}/bulk-actions/${unknownId}`),
    answer: "404 NOT_FOUND",
  },
  [`POST ${ops}/bulk-actions/:id/stop`]: {
    ask: (as) => as.post(`${ops}/bulk-actions/${unknownId}/stop`, { why }),
    answer: "404 NOT_FOUND",
  },
};
