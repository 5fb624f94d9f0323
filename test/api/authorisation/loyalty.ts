import { randomUUID } from "node:crypto";
import type { Expectations } from "./scene.js";

const newCode = () => randomUUID().slice(0, 13);

export const loyalty: Expectations = {
  "GET /api/v1/loyalty/score": { ask: (as) => as.get("/api/v1/loyalty/score"), answer: "200" },
  "POST /api/v1/loyalty/referral": {
    ask: (as) => as.post("/api/v1/loyalty/referral", { referralCode: "unknown" }),
    answer: "400 BAD_REQUEST",
  },
  "POST /api/v1/loyalty/promo/apply": {
    ask: (as) => as.post("/api/v1/loyalty/promo/apply", { code: "UNKNOWN", orderAmount: 100 }),
    answer: "400 INVALID_PROMO",
  },
  "GET /api/v1/admin/promo": { ask: (as) => as.get("/api/v1/admin/promo"), answer: "200" },
  "POST /api/v1/admin/promo/create": {
    ask: (as) => as.post("/api/v1/admin/promo/create", { code: newCode(), discountPercent: 10 }),
    answer: "201",
  },
  "PUT /api/v1/admin/promo/:id/active": {
    prepare: async ({ callers: { admin } }) =>
      (await admin.post("/api/v1/admin/promo/create", { code: newCode(), discountPercent: 10 })).string("id"),
    ask: (as, _scene, id) => as.put(`/api/v1/admin/promo/${id}/active`, { active: false }),
    answer: "200",
  },
};
