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
  "GET /api/v1/orders": { ask: (as) => as.get("/api/v1/orders"), answer: "200" },
  "GET /api/v1/orders/:id/events": {
    ask: (as, { orderId }) => as.get(`/api/v1/orders/${orderId}/events`),
    answer: "200",
    except: foreign("customer", "bakery", "admin"),
  },
  "GET /api/v1/orders/:id/pickup.ics": {
    ask: (as, { orderId }) => as.get(`/api/v1/orders/${orderId}/pickup.ics`),
    answer: "200",
    except: foreign("customer"),
  },
  "POST /api/v1/orders/:id/cancel": {
    ask: (as, { orderId }) => as.post(`/api/v1/orders/${orderId}/cancel`),
    answer: "200",
    except: foreign("customer", "bakery"),
  },
  // it was placed in the app
  "POST /api/v1/orders/:id/decline": {
    ask: (as, { orderId }) => as.post(`/api/v1/orders/${orderId}/decline`),
    answer: "409 CONFLICT",
    except: foreign("customer", "bakery"),
  },
  "PUT /api/v1/orders/:id/status": {
    ask: (as, { orderId }) => as.put(`/api/v1/orders/${orderId}/status`, { status: "READY" }),
    answer: "200",
    except: foreign("bakery"),
  },
  "POST /api/v1/orders/:id/pickup": {
    ask: (as, { orderId }) => as.post(`/api/v1/orders/${orderId}/pickup`, { pickupCode: "000000" }),
    answer: "400 INVALID_CODE",
    except: foreign("bakery"),
  },
  "GET /api/v1/partners/me/orders": { ask: (as) => as.get("/api/v1/partners/me/orders"), answer: "200" },
};
