import * as cast from "../../support/cast.js";
import type { Expectations } from "./scene.js";

export const boxes: Expectations = {
  "POST /api/v1/boxes": { ask: (as) => as.post("/api/v1/boxes", cast.newBox()), answer: "201" },
  "GET /api/v1/boxes/:id": { ask: (as, { boxId }) => as.get(`/api/v1/boxes/${boxId}`), answer: "200" },
  "GET /api/v1/boxes/by-partner/:partnerId": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/boxes/by-partner/${bakeryId}?all=true`),
    answer: "200",
  },
};
