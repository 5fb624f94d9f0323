import createClient from "openapi-fetch";
// generated from a running service: npx openapi-typescript http://localhost:3000/api/v1/openapi.json -o api.d.ts
import type { paths } from "./api.js";

/**
 * Places a first order as an app does. The client's types are generated from the OpenAPI document: a wrong path, field or
 * status does not compile.
 */

const api = createClient<paths>({ baseUrl: "http://localhost:3000" });

const phone = "+79990000002";
await api.POST("/api/v1/auth/otp/send", { body: { phone } });
const login = await api.POST("/api/v1/auth/otp/verify", { body: { phone, code: "000000" } });
if (!login.data) throw new Error(login.error.detail);
const headers = { authorization: `${login.data.tokenType} ${login.data.accessToken}` };

const [boxId, partnerId] = process.argv.slice(2);
if (boxId === undefined || partnerId === undefined) throw new Error("Give the ids of a box and of its partner.");
const box = await api.GET("/api/v1/boxes/{id}", { params: { path: { id: boxId } } });
if (!box.data) throw new Error(box.error.detail);

const order = await api.POST("/api/v1/orders", {
  headers,
  params: { header: { "idempotency-key": crypto.randomUUID() } },
  body: { items: [{ menuItemId: boxId, qty: 1 }], totalAmount: box.data.price, partnerId },
});
if (!order.data) throw new Error(`${order.error.code}: ${order.error.detail}`);
console.log(`${order.data.orderId} is ${order.data.status}, pickup code ${order.data.pickupCode}`);
