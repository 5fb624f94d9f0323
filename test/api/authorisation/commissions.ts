import type { Expectations } from "./scene.js";

const global = "/api/v1/admin/commissions/global";
const ofPartner = (id: string) => `/api/v1/admin/commissions/partners/${id}`;

export const commissions: Expectations = {
  "GET /api/v1/admin/commissions/global": { ask: (as) => as.get(global), answer: "200" },
  "PUT /api/v1/admin/commissions/global": { ask: (as) => as.put(global, { ratePercent: 15 }), answer: "200" },
  "GET /api/v1/admin/commissions/partners/:id": {
    ask: (as, { bakeryId }) => as.get(ofPartner(bakeryId)),
    answer: "200",
  },
  "PUT /api/v1/admin/commissions/partners/:id": {
    ask: (as, { bakeryId }) => as.put(ofPartner(bakeryId), { ratePercent: 10 }),
    answer: "200",
  },
  "DELETE /api/v1/admin/commissions/partners/:id": {
    ask: (as, { bakeryId }) => as.delete(ofPartner(bakeryId)),
    answer: "204",
  },
  "GET /api/v1/admin/commissions/changes": {
    ask: (as) => as.get("/api/v1/admin/commissions/changes"),
    answer: "200",
  },
};
