import { foreign, type Expectations } from "./scene.js";

export const orders: Expectations = {
  "POST /api/v1/orders": {
    ask: (as, { bakeryId, boxId }) =>
      as.post("/api/v1/orders", { items: [{ boxId, qty: 1 }], totalAmount: 249.9, partnerId: bakeryId }),
    answer: "201",
  },
  "GET /api/v1/orders/:id": {
    ask: (as, { orderId }) => as.get(`/api/v1/orders/${orderId}`),
    answer: "200",
    except: foreign("customer", "bakery", "admin"),
  },
};
