import { foreign, type Expectations, type Scene } from "./scene.js";

const path = "/api/v1/events";
const endpoints = "/api/v1/webhook-endpoints";
/** No such host exists. */
const endpoint = { url: "https://receiver.invalid/events" };
/** The bakery's endpoint, created at the first call, because a partner may have only a few. */
async function prepare({ callers: { bakery } }: Scene): Promise<string> {
  const [known] = (await bakery.get(endpoints)).list;
  return typeof known?.["id"] === "string" ? known["id"] : (await bakery.post(endpoints, endpoint)).string("id");
}
const ofBakery = { prepare, except: foreign("bakery") };

export const events: Expectations = {
  "GET /api/v1/partners/me/stream": { ask: (as) => as.get("/api/v1/partners/me/stream"), answer: "200" },
  "GET /api/v1/orders/:id/stream": {
    ask: (as, { orderId }) => as.get(`/api/v1/orders/${orderId}/stream`),
    answer: "200",
    except: foreign("customer", "bakery"),
  },
  "GET /api/v1/boxes/stream": { ask: (as) => as.get("/api/v1/boxes/stream?cityId=moscow"), answer: "200" },
  [`GET ${path}`]: { ask: (as) => as.get(`${path}?after=end`), answer: "200" },
  [`POST ${endpoints}`]: { ask: (as) => as.post(endpoints, endpoint), answer: "201" },
  [`GET ${endpoints}`]: { ask: (as) => as.get(endpoints), answer: "200" },
  [`GET ${endpoints}/:id`]: { ...ofBakery, ask: (as, _scene, id) => as.get(`${endpoints}/${id}`), answer: "200" },
  [`PATCH ${endpoints}/:id`]: {
    ...ofBakery,
    ask: (as, _scene, id) => as.patch(`${endpoints}/${id}`, { enabled: true }),
    answer: "200",
  },
  [`DELETE ${endpoints}/:id`]: { ...ofBakery, ask: (as, _scene, id) => as.delete(`${endpoints}/${id}`), answer: "204" },
  [`POST ${endpoints}/:id/rotate-secret`]: {
    ...ofBakery,
    ask: (as, _scene, id) => as.post(`${endpoints}/${id}/rotate-secret`),
    answer: "200",
  },
  [`GET ${endpoints}/:id/deliveries`]: {
    ...ofBakery,
    ask: (as, _scene, id) => as.get(`${endpoints}/${id}/deliveries`),
    answer: "200",
  },
  // nothing was sent yet
  [`POST ${endpoints}/:id/deliveries/:position/resend`]: {
    ...ofBakery,
    ask: (as, _scene, id) => as.post(`${endpoints}/${id}/deliveries/1/resend`),
    answer: "404 NOT_FOUND",
  },
  [`POST ${endpoints}/:id/resend`]: {
    ...ofBakery,
    ask: (as, _scene, id) => as.post(`${endpoints}/${id}/resend`, { since: "2026-06-01T00:00:00Z" }),
    answer: "202",
  },
  [`POST ${endpoints}/:id/test`]: {
    ...ofBakery,
    ask: (as, _scene, id) => as.post(`${endpoints}/${id}/test`),
    answer: "200",
  },
};
