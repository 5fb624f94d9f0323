import * as cast from "../../support/cast.js";
import { among, everyPartner, foreign, type Expectations, type Scene } from "./scene.js";

const inviteCustomer = async ({ callers: { bakery, customer } }: Scene) => {
  const { body: me } = await customer.get("/api/v1/users/me");
  return (await bakery.post("/api/v1/partners/me/staff", { phone: me["phone"] })).string("id");
};

export const partners: Expectations = {
  "POST /api/v1/partners/register": {
    ask: (as) => as.post("/api/v1/partners/register", cast.bakeryProfile),
    answer: "201",
    except: among(
      everyPartner.filter((name) => name !== "rejected partner"),
      "409 CONFLICT",
    ),
  },
  "GET /api/v1/partners/me": { ask: (as) => as.get("/api/v1/partners/me"), answer: "200" },
  "PUT /api/v1/partners/me": { ask: (as) => as.put("/api/v1/partners/me", { name: "Пекарня" }), answer: "200" },
  // they registered with their tokens
  "POST /api/v1/partners/me/decline": { ask: (as) => as.post("/api/v1/partners/me/decline"), answer: "409 CONFLICT" },
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
  "PUT /api/v1/admin/partners/:id/owner": {
    ask: (as, { newcomerId }) => as.put(`/api/v1/admin/partners/${newcomerId}/owner`, { phone: cast.newPhone() }),
    answer: "200",
  },
  "GET /api/v1/partners/me/staff": { ask: (as) => as.get("/api/v1/partners/me/staff"), answer: "200" },
  "POST /api/v1/partners/me/staff": {
    ask: (as) => as.post("/api/v1/partners/me/staff", { phone: cast.newPhone() }),
    answer: "201",
  },
  "GET /api/v1/users/me/invitations": { ask: (as) => as.get("/api/v1/users/me/invitations"), answer: "200" },
  "POST /api/v1/users/me/invitations/:id/accept": {
    prepare: inviteCustomer,
    ask: (as, _scene, id) => as.post(`/api/v1/users/me/invitations/${id}/accept`),
    answer: "200",
    except: foreign("customer"),
  },
  "DELETE /api/v1/users/me/invitations/:id": {
    prepare: inviteCustomer,
    ask: (as, _scene, id) => as.delete(`/api/v1/users/me/invitations/${id}`),
    answer: "204",
    except: foreign("customer"),
  },
  "DELETE /api/v1/partners/me/staff/:id": {
    prepare: async ({ callers: { bakery } }) =>
      (await bakery.post("/api/v1/partners/me/staff", { phone: cast.newPhone() })).string("id"),
    ask: (as, _scene, id) => as.delete(`/api/v1/partners/me/staff/${id}`),
    answer: "204",
    except: foreign("bakery"),
  },
  "GET /api/v1/cities": { ask: (as) => as.get("/api/v1/cities"), answer: "200" },
  "PUT /api/v1/admin/cities/:id": {
    ask: (as) => as.put("/api/v1/admin/cities/kazan", { name: "Казань", timezone: "Europe/Moscow" }),
    answer: "200",
  },
};
