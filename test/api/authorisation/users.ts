import { randomUUID } from "node:crypto";
import { foreign, type Expectations, type Scene } from "./scene.js";

const favorites = "/api/v1/users/me/favorites";
const devices = "/api/v1/notifications/devices";
const apiKeys = "/api/v1/admin/api-keys";

const device = () => ({ pushToken: `token-${randomUUID()}`, platform: "android", locale: "ru-RU" });
const robot = { name: "Робот", scopes: ["ads:read"] };

export const users: Expectations = {
  "GET /api/v1/users/me": { ask: (as) => as.get("/api/v1/users/me"), answer: "200" },
  "PUT /api/v1/users/me": { ask: (as) => as.put("/api/v1/users/me", { firstName: "Анна" }), answer: "200" },
  "DELETE /api/v1/users/me": { ask: (as) => as.delete("/api/v1/users/me"), answer: "204" },
  "POST /api/v1/users/me/export": { ask: (as) => as.post("/api/v1/users/me/export"), answer: "202" },
  "GET /api/v1/users/me/export": {
    prepare: async ({ callers: { customer } }: Scene) => {
      await customer.post("/api/v1/users/me/export");
      return "";
    },
    ask: (as) => as.get("/api/v1/users/me/export"),
    answer: "200",
    except: foreign("customer"),
  },
  "GET /api/v1/users/me/service-id": { ask: (as) => as.get("/api/v1/users/me/service-id"), answer: "200" },
  "POST /api/v1/users/me/avatar": {
    ask: (as) => as.post("/api/v1/users/me/avatar", { avatarUrl: "https://cdn.example.com/anna.webp" }),
    answer: "200",
  },
  "DELETE /api/v1/users/me/avatar": { ask: (as) => as.delete("/api/v1/users/me/avatar"), answer: "204" },
  "GET /api/v1/users/me/notification-preferences": {
    ask: (as) => as.get("/api/v1/users/me/notification-preferences"),
    answer: "200",
  },
  "PUT /api/v1/users/me/notification-preferences": {
    ask: (as) => as.put("/api/v1/users/me/notification-preferences", { marketing: true }),
    answer: "200",
  },
  [`GET ${favorites}`]: { ask: (as) => as.get(favorites), answer: "200" },
  [`POST ${favorites}`]: {
    ask: (as, { bakeryId }) => as.post(favorites, { targetType: "PARTNER", targetId: bakeryId }),
    answer: "201",
  },
  [`DELETE ${favorites}/:id`]: {
    prepare: async ({ callers: { customer }, bakeryId }: Scene) =>
      (await customer.post(favorites, { targetType: "PARTNER", targetId: bakeryId })).string("id"),
    ask: (as, _scene, id) => as.delete(`${favorites}/${id}`),
    answer: "204",
    except: foreign("customer"),
  },
  [`POST ${devices}`]: { ask: (as) => as.post(devices, device()), answer: "201" },
  [`GET ${devices}`]: { ask: (as) => as.get(devices), answer: "200" },
  [`DELETE ${devices}/:id`]: {
    prepare: async ({ callers: { customer } }: Scene) => (await customer.post(devices, device())).string("id"),
    ask: (as, _scene, id) => as.delete(`${devices}/${id}`),
    answer: "204",
    except: foreign("customer"),
  },
  [`POST ${apiKeys}`]: { ask: (as) => as.post(apiKeys, robot), answer: "201" },
  [`GET ${apiKeys}`]: { ask: (as) => as.get(apiKeys), answer: "200" },
  [`DELETE ${apiKeys}/:id`]: {
    prepare: async ({ callers: { admin } }: Scene) => (await admin.post(apiKeys, robot)).string("id"),
    ask: (as, _scene, id) => as.delete(`${apiKeys}/${id}`),
    answer: "204",
  },
};
