import type { Expectations } from "./scene.js";

export const geo: Expectations = {
  "GET /api/v1/geo/partners/nearby": {
    ask: (as) => as.get("/api/v1/geo/partners/nearby?lat=55.75&lng=37.61&radius=1000"),
    answer: "200",
  },
  "GET /api/v1/geo/geocode": { ask: (as) => as.get("/api/v1/geo/geocode?address=Kremlin"), answer: "200" },
  "POST /api/v1/geo/internal/locations": {
    ask: (as, { bakeryId }) =>
      as.post("/api/v1/geo/internal/locations", { partnerId: bakeryId, latitude: 55.75, longitude: 37.61 }),
    answer: "200",
  },
};
