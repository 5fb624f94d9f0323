import type { Expectations } from "./scene.js";

const reports = ["dashboard", "top-boxes", "top-partners", "order-heatmap", "listing-heatmap", "peak-hours"];

export const analytics: Expectations = {
  ...Object.fromEntries(
    reports.map((name) => {
      const path = `/api/v1/admin/analytics/${name}`;
      return [`GET ${path}`, { ask: (as, { bakeryId }) => as.get(`${path}?partnerId=${bakeryId}`), answer: "200" }];
    }),
  ),
  "GET /api/v1/admin/analytics/partners/:id": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/admin/analytics/partners/${bakeryId}`),
    answer: "200",
  },
  "GET /api/v1/partners/me/analytics": { ask: (as) => as.get("/api/v1/partners/me/analytics"), answer: "200" },
};
