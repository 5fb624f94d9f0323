import { foreign, type Expectations } from "./scene.js";

export const menu: Expectations = {
  "GET /api/v1/menu/items": { ask: (as) => as.get("/api/v1/menu/items"), answer: "200" },
  "GET /api/v1/menu/categories": { ask: (as) => as.get("/api/v1/menu/categories"), answer: "200" },
  "POST /api/v1/menu/items": {
    ask: (as) => as.post("/api/v1/menu/items", { name: "Багет", category: "Хлеб", price: 1 }),
    answer: "201",
  },
  "PUT /api/v1/menu/items/:id": {
    ask: (as, { itemId }) => as.put(`/api/v1/menu/items/${itemId}`, { price: 1, category: "Чужое" }),
    answer: "200",
    except: foreign("bakery"),
  },
  "DELETE /api/v1/menu/items/:id": {
    ask: (as, { itemId }) => as.delete(`/api/v1/menu/items/${itemId}`),
    answer: "200",
    except: foreign("bakery"),
  },
};
