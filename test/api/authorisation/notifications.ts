import type { Expectations } from "./scene.js";

const inbox = "/api/v1/notifications";
const unknownId = "01890000-0000-7000-8000-000000000000";

export const notifications: Expectations = {
  [`GET ${inbox}`]: { ask: (as) => as.get(inbox), answer: "200" },
  [`POST ${inbox}/read`]: { ask: (as) => as.post(`${inbox}/read`, { ids: [unknownId] }), answer: "200" },
  [`GET ${inbox}/vapid-public-key`]: { ask: (as) => as.get(`${inbox}/vapid-public-key`), answer: "404 NOT_FOUND" },
  "GET /api/v1/admin/notifications": {
    ask: (as) => as.get(`/api/v1/admin/notifications?userId=${unknownId}`),
    answer: "200",
  },
};
