import * as cast from "../../support/cast.js";
import { foreign, type Expectations } from "./scene.js";

export const boxes: Expectations = {
  "POST /api/v1/boxes": { ask: (as) => as.post("/api/v1/boxes", cast.newBox()), answer: "201" },
  "GET /api/v1/boxes/:id": { ask: (as, { boxId }) => as.get(`/api/v1/boxes/${boxId}`), answer: "200" },
  "GET /api/v1/boxes/by-partner/:partnerId": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/boxes/by-partner/${bakeryId}?all=true`),
    answer: "200",
  },
  "GET /api/v1/boxes": { ask: (as) => as.get("/api/v1/boxes"), answer: "200" },
  "PUT /api/v1/boxes/:id": {
    ask: (as, { boxId }) => as.put(`/api/v1/boxes/${boxId}`, { title: "Набор" }),
    answer: "200",
    except: foreign("bakery"),
  },
  "PATCH /api/v1/boxes/:id/quantity": {
    ask: (as, { boxId }) => as.patch(`/api/v1/boxes/${boxId}/quantity`, { quantityAvailable: 3 }),
    answer: "200",
    except: foreign("bakery"),
  },
  "POST /api/v1/boxes/:id/hide": {
    ask: (as, { boxId }) => as.post(`/api/v1/boxes/${boxId}/hide`),
    answer: "200",
    except: foreign("bakery"),
  },
  "POST /api/v1/boxes/:id/unhide": {
    ask: (as, { boxId }) => as.post(`/api/v1/boxes/${boxId}/unhide`),
    answer: "200",
    except: foreign("bakery"),
  },
  "DELETE /api/v1/boxes/:id": {
    ask: (as, { boxId }) => as.delete(`/api/v1/boxes/${boxId}`),
    answer: "204",
    except: foreign("bakery"),
  },
  "POST /api/v1/boxes/:id/repeat": {
    ask: (as, { boxId }) => as.post(`/api/v1/boxes/${boxId}/repeat`),
    answer: "201",
    except: foreign("bakery"),
  },
};
