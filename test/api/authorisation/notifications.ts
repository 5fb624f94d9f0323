import type { Expectations } from "./scene.js";

export const notifications: Expectations = {
  "GET /api/v1/notifications": { ask: (as) => as.get("/api/v1/notifications"), answer: "200" },
};
