import { expect, test } from "@jest/globals";
import { breaksBetween } from "../../../scripts/lint/breaks.js";
import { surfaceOf } from "../../../scripts/lint/surface.js";

const order = { schema: { $ref: "#/components/schemas/Order" } };

/** The document of the last release. */
const released = JSON.stringify({
  paths: {
    "/orders": {
      get: {
        operationId: "listOrders",
        security: [{}, { bearer: [] }],
        parameters: [{ in: "query", name: "status", schema: { enum: ["READY", "DONE", "LOST"] } }],
        responses: {
          200: {
            content: {
              "application/json": { schema: { type: "array", items: order.schema } },
              "text/csv": { schema: { type: "string" } },
            },
          },
        },
      },
      post: {
        operationId: "placeOrder",
        security: [{ bearer: [] }],
        requestBody: {
          required: true,
          content: {
            "application/json": {
              schema: {
                type: "object",
                properties: {
                  qty: { type: "integer", maximum: 100 },
                  note: { anyOf: [{ type: "string" }, { type: "null" }] },
                },
                required: ["qty"],
              },
            },
          },
        },
        responses: { 201: { content: { "application/json": order } } },
      },
    },
  },
  components: {
    schemas: {
      Order: {
        type: "object",
        properties: {
          id: { type: "string", format: "uuid" },
          state: { enum: ["NEW", "OLD"] },
          sum: { type: "number" },
        },
        required: ["id", "state", "sum"],
      },
      NotEnoughProblem: {
        type: "object",
        properties: { code: { const: "CONFLICT" }, available: { type: "integer" } },
        required: ["code", "available"],
      },
    },
  },
});

const breaksOf = (document: string) => breaksBetween(surfaceOf(JSON.parse(released)), surfaceOf(JSON.parse(document)));

/** The document with one change. */
function changed(from: string, to: string): string {
  expect(released.split(from)).toHaveLength(2);
  return released.replace(from, to);
}

test("a document breaks no app of its own release", () => {
  expect(breaksOf(released)).toEqual([]);
});

test.each([
  ["an operation gets another name", '"placeOrder"', '"order"', ["placeOrder is gone"]],
  [
    "an operation gets another address",
    '"/orders"',
    '"/order"',
    ["listOrders may now be GET /order", "placeOrder may now be POST /order"],
  ],
  ["a field of an answer goes", '"sum":{"type":"number"}', '"total":{"type":"number"}', ["Order.sum is gone"]],
  ["a field of an answer gets another type", '"number"', '"string"', ["Order.sum may now be string"]],
  [
    "a field of an answer gets a new constant",
    '["NEW","OLD"]',
    '["NEW","OLD","LATE"]',
    ['Order.state may now be "LATE"'],
  ],
  ["a field of an answer may be absent", '["id","state","sum"]', '["id","state"]', ["Order.sum may now be absent"]],
  [
    "an answer has another schema",
    '"schema":{"$ref":"#/components/schemas/Order"}',
    '"schema":{"type":"object"}',
    ["placeOrder 201 may now be object"],
  ],
  [
    "an answer has a new status",
    '"responses":{"201"',
    '"responses":{"202":{},"201"',
    ["placeOrder 202 is a new answer"],
  ],
  ["an answer is no longer CSV", '"text/csv"', '"text/plain"', ["listOrders 200 as text/csv is gone"]],
  ["a reason gets another code", '"CONFLICT"', '"DUPLICATE"', ['NotEnoughProblem.code may now be "DUPLICATE"']],
  ["a parameter goes", '"name":"status"', '"name":"state"', ["listOrders.query.status is no longer taken"]],
  ["a parameter no longer takes a constant", ',"LOST"', "", ['listOrders.query.status may no longer be "LOST"']],
  [
    "a parameter must be sent",
    '"name":"status"',
    '"name":"status","required":true',
    ["listOrders.query.status must now be sent"],
  ],
  [
    "a new parameter must be sent",
    '"parameters":[',
    '"parameters":[{"in":"query","name":"city","required":true,"schema":{}},',
    ["listOrders.query.city must now be sent"],
  ],
  [
    "a body is needed",
    '"operationId":"listOrders"',
    '"operationId":"listOrders","requestBody":{"required":true,"content":{"application/json":{"schema":{}}}}',
    ["listOrders.body must now be sent"],
  ],
  ["a field must be sent", '["qty"]', '["qty","note"]', ["placeOrder.body.note must now be sent"]],
  ["a new field must be sent", '"qty":{', '"tip":{"oneOf":[{"type":"integer"}]},"qty":{', []],
  ["a field may not be null", ',{"type":"null"}', "", ["placeOrder.body.note may no longer be null"]],
  ["a bound is tighter", '"maximum":100', '"maximum":50', ["placeOrder.body.qty: maximum is now 50"]],
  ["a bound is new", '"maximum":100', '"maximum":100,"minimum":1', ["placeOrder.body.qty: minimum is now 1"]],
  ["a token is needed", "[{},{", "[{", ["listOrders without a token is no longer taken"]],
])("it is a break when %s", (_what, from, to, breaks) => {
  expect(breaksOf(changed(from, to))).toEqual(breaks);
});

test.each([
  ["a new operation", '"get":{', '"put":{"operationId":"x","security":[],"responses":{"200":{}}},"get":{'],
  ["a new field in an answer", '"sum":{', '"tip":{"type":"number"},"sum":{'],
  ["a new optional parameter", '"parameters":[', '"parameters":[{"in":"query","name":"city","schema":{}},'],
  ["a new optional field", '"qty":{', '"gift":{"type":"object","properties":{"to":{}},"required":["to"]},"qty":{'],
  ["a new constant in a request", '"LOST"', '"LOST","LATE"'],
  ["a wider bound", '"maximum":100', '"maximum":200'],
  ["a narrower answer", '["NEW","OLD"]', '["NEW"]'],
  ["a new refusal", '"responses":{"201"', '"responses":{"409":{},"201"'],
])("%s is no break", (_what, from, to) => {
  expect(breaksOf(changed(from, to))).toEqual([]);
});
