import * as cast from "../../support/cast.js";
import { among, everyPartner, type Expectations } from "./scene.js";

export const partners: Expectations = {
  "POST /api/v1/partners/register": {
    ask: (as) => as.post("/api/v1/partners/register", cast.bakeryProfile),
    answer: "201",
    except: among(everyPartner, "409 CONFLICT"),
  },
  "GET /api/v1/partners/me": { ask: (as) => as.get("/api/v1/partners/me"), answer: "200" },
  "PUT /api/v1/partners/me": { ask: (as) => as.put("/api/v1/partners/me", { name: "Пекарня" }), answer: "200" },
  "GET /api/v1/partners/me/status": { ask: (as) => as.get("/api/v1/partners/me/status"), answer: "200" },
  "GET /api/v1/partners/:id": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/partners/${bakeryId}`),
    answer: "200",
  },
  "GET /api/v1/admin/partners": { ask: (as) => as.get("/api/v1/admin/partners"), answer: "200" },
  "PUT /api/v1/admin/partners/:id/approve": {
    ask: (as, { newcomerId }) => as.put(`/api/v1/admin/partners/${newcomerId}/approve`),
    answer: "200",
  },
  "PUT /api/v1/admin/partners/:id/reject": {
    ask: (as, { newcomerId }) => as.put(`/api/v1/admin/partners/${newcomerId}/reject`),
    answer: "200",
  },
  "PUT /api/v1/admin/partners/:id/suspend": {
    ask: (as, { newcomerId }) => as.put(`/api/v1/admin/partners/${newcomerId}/suspend`),
    answer: "200",
  },
};
