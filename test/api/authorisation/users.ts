import type { Expectations } from "./scene.js";

export const users: Expectations = {
  "GET /api/v1/users/me": { ask: (as) => as.get("/api/v1/users/me"), answer: "200" },
  "PUT /api/v1/users/me": { ask: (as) => as.put("/api/v1/users/me", { firstName: "Анна" }), answer: "200" },
  "GET /api/v1/users/me/service-id": { ask: (as) => as.get("/api/v1/users/me/service-id"), answer: "200" },
};
