import { foreign, type Expectations, type Scene } from "./scene.js";

/** A review of a new order, since an order has only one. */
async function publish({ callers: { customer, bakery }, bakeryId }: Scene) {
  const itemId = (await bakery.post("/api/v1/menu/items", { name: "Багет", category: "Хлеб", price: 120 })).string(
    "id",
  );
  const order = await customer.post("/api/v1/orders", {
    items: [{ menuItemId: itemId, qty: 1 }],
    totalAmount: 120,
    partnerId: bakeryId,
  });
  return (await customer.post("/api/v1/reviews", { orderId: order.string("orderId"), rating: 5 })).string("id");
}

export const reviews: Expectations = {
  "POST /api/v1/reviews": {
    ask: (as, { orderId }) => as.post("/api/v1/reviews", { orderId, rating: 5 }),
    answer: "201",
    except: foreign("customer"),
  },
  "PUT /api/v1/reviews/:id": {
    prepare: publish,
    ask: (as, _scene, id) => as.put(`/api/v1/reviews/${id}`, { rating: 4 }),
    answer: "200",
    except: foreign("customer"),
  },
  "GET /api/v1/reviews/partners/:id": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/reviews/partners/${bakeryId}`),
    answer: "200",
  },
  "GET /api/v1/reviews/partners/:id/rating": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/reviews/partners/${bakeryId}/rating`),
    answer: "200",
  },
  "GET /api/v1/reviews/admin": { ask: (as) => as.get("/api/v1/reviews/admin"), answer: "200" },
  "PUT /api/v1/reviews/admin/:id/moderate": {
    prepare: publish,
    ask: (as, _scene, id) => as.put(`/api/v1/reviews/admin/${id}/moderate`, { decision: "APPROVE" }),
    answer: "200",
  },
};
