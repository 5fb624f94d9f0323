import { z } from "zod";

// The messages between the bench and its measuring programs.

/** Requests to send over `connections` connections. */
const requests = {
  connections: z.int(),
  requests: z.array(
    z.object({
      method: z.enum(["GET", "POST"]),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string().optional(),
    }),
  ),
  /** A header that gets a new value in every request. */
  uniqueHeader: z.string().optional(),
  /** Each request's body is a POS event: it gets a new id in every request, and is signed with this secret. */
  webhookSecret: z.string().optional(),
};

/** Requests to send for `seconds`, as fast as they are answered. */
export const LoadPlan = z.object({ url: z.url(), seconds: z.number(), ...requests });
export type LoadPlan = z.output<typeof LoadPlan>;

export const Load = z.object({
  perSecond: z.number(),
  p99Ms: z.number(),
  /** Responses other than 2xx, and requests without a response. */
  failed: z.int(),
  /** Share of one core that sending the requests took. */
  busy: z.number(),
});
export type Load = z.output<typeof Load>;

/** Streams of requests that come at a steady rate for `seconds`, all at the same time, however long the answers take. */
export const ArrivalsPlan = z.object({
  url: z.url(),
  seconds: z.number(),
  streams: z.array(z.object({ perSecond: z.number(), ...requests })),
});
export type ArrivalsPlan = z.output<typeof ArrivalsPlan>;

/** For each stream, in milliseconds: how long after a request was due it was answered. */
export const Arrivals = z.object({
  streams: z.array(
    z.object({
      /** Of 2xx responses. */
      taken: z.array(z.number()),
      /** Of 503 responses. */
      refused: z.array(z.number()),
      /** Other responses, and requests without a response. */
      failed: z.int(),
      /** From the first request to the last answer. */
      seconds: z.number(),
    }),
  ),
  /** Share of one core that sending the requests took. */
  busy: z.number(),
});
export type Arrivals = z.output<typeof Arrivals>;

/** Orders of one box by all these users. */
export const HotRowPlan = z.object({
  clients: z.int(),
  seconds: z.number(),
  userIds: z.array(z.uuid()),
  boxId: z.uuid(),
  partnerId: z.uuid(),
  totalMinor: z.int(),
});
export type HotRowPlan = z.output<typeof HotRowPlan>;

/** Orders of these boxes by these users, one after the other in one session. */
export const OrderSqlPlan = z.object({
  how: z.enum(["function", "bare"]),
  seconds: z.number(),
  boxes: z.array(z.object({ id: z.uuid(), partnerId: z.uuid() })),
  totalMinor: z.int(),
});
export type OrderSqlPlan = z.output<typeof OrderSqlPlan>;

const Handle = z.enum(["sql", "lookups", "contended", "postgres.js"]);

/** Reads of these boxes by `clients` clients, beside as many others that do other work through the same or another handle. */
export const StatementsPlan = z.object({
  clients: z.int(),
  seconds: z.number(),
  boxIds: z.array(z.uuid()),
  through: Handle,
  beside: z.object({ work: z.enum(["one row", "slow"]), through: Handle }).nullable(),
});
export type StatementsPlan = z.output<typeof StatementsPlan>;

export const HandOverPlan = z.object({ how: z.enum(["relay", "addBulk"]), batches: z.int() });
export type HandOverPlan = z.output<typeof HandOverPlan>;

/** Photographs to convert, `atOnce` at a time. */
export const ConversionPlan = z.object({ how: z.enum(["worker", "sharp"]), images: z.int(), atOnce: z.int() });
export type ConversionPlan = z.output<typeof ConversionPlan>;

/** A file to import, into a menu that has none of its rows or has all of them with other prices. */
export const ImportPlan = z.object({
  how: z.enum(["worker", "bare"]),
  menu: z.enum(["empty", "full"]),
  rows: z.int(),
});
export type ImportPlan = z.output<typeof ImportPlan>;

/** Messages to send to a push service, `atOnce` at a time. */
export const DeliveryPlan = z.object({
  how: z.enum(["worker", "bare"]),
  service: z.url(),
  messages: z.int(),
  atOnce: z.int(),
});
export type DeliveryPlan = z.output<typeof DeliveryPlan>;

/** The CPU time is per message, or per order. */
export const DeliveryRate = z.object({ perSecond: z.number(), cpuMicros: z.number() });

/** Notifications to process through the service, or as many empty jobs through BullMQ alone. */
export const PassPlan = z.object({ how: z.enum(["service", "bare"]), jobs: z.int() });
export type PassPlan = z.output<typeof PassPlan>;

/** Notifies all followers of a bakery of a new box, or writes as many notifications with one statement. */
export const FanOutPlan = z.object({ how: z.enum(["worker", "bare"]), followers: z.int() });
export type FanOutPlan = z.output<typeof FanOutPlan>;

/** Days to roll up, or dashboards to read, for `seconds`. */
export const RollupPlan = z.object({
  how: z.enum(["worker", "bare", "everything", "dashboard", "raw"]),
  seconds: z.number(),
});
export type RollupPlan = z.output<typeof RollupPlan>;

/** The statements of a month, all at once. */
export const SettlementPlan = z.object({ how: z.enum(["worker", "bare"]) });
export type SettlementPlan = z.output<typeof SettlementPlan>;

export const Rate = z.object({ perSecond: z.number() });
export type Rate = z.output<typeof Rate>;

/** A pull of a POS menu of `items` items, into an empty menu or one that has them all. */
export const PullPlan = z.object({ how: z.enum(["service", "bare"]), items: z.int(), known: z.boolean() });
export type PullPlan = z.output<typeof PullPlan>;

export const PickUpPlan = z.object({ samples: z.int() });
export type PickUpPlan = z.output<typeof PickUpPlan>;

/** In milliseconds: from commit to start of staged jobs, from adding to completion of bare ones. */
export const Latencies = z.object({ staged: z.array(z.number()), bare: z.array(z.number()) });
export type Latencies = z.output<typeof Latencies>;

/** Single messages to each of these push services, while `silentMessages` wait for others that never answer. */
export const IsolationPlan = z.object({
  services: z.array(z.url()),
  silentServices: z.int(),
  silentMessages: z.int(),
  samples: z.int(),
});
export type IsolationPlan = z.output<typeof IsolationPlan>;

/** In milliseconds, for each of the services. */
export const Durations = z.object({ latencies: z.array(z.array(z.number())) });
export type Durations = z.output<typeof Durations>;

/** Events for endpoints of webhooks, for each in turn, while `hanging` of them never answer. */
export const WebhooksPlan = z.object({
  endpoints: z.int(),
  hanging: z.int(),
  perSecond: z.number(),
  seconds: z.number(),
});
export type WebhooksPlan = z.output<typeof WebhooksPlan>;

/** In milliseconds, from the commit of each event to its arrival at an endpoint that answers; `null` is never. */
export const Arrived = z.object({
  latencies: z.array(
    z
      .number()
      .nullable()
      .transform((ms) => ms ?? Number.POSITIVE_INFINITY),
  ),
});

/** Requests of these paths over many connections from `addresses` client addresses, each sent when the last one is answered. */
export const FloodPlan = z.object({
  url: z.url(),
  connections: z.int(),
  addresses: z.int(),
  seconds: z.number(),
  paths: z.array(z.string()),
});
export type FloodPlan = z.output<typeof FloodPlan>;

/** How many responses had each status; 0 is none. */
export const Flood = z.object({ statuses: z.record(z.string(), z.int()) });
export type Flood = z.output<typeof Flood>;

/** Live streams to open and keep open, and orders to place then, one every `everyMs`. */
export const StreamsPlan = z.object({
  url: z.url(),
  streams: z.array(z.object({ path: z.string(), authorization: z.string() })),
  orders: z.array(z.object({ path: z.string(), headers: z.record(z.string(), z.string()), body: z.string() })),
  everyMs: z.number(),
});
export type StreamsPlan = z.output<typeof StreamsPlan>;

/** In milliseconds, from the request of an order to its message; `lost` counts those without one. */
export const StreamDelays = z.object({ open: z.int(), delays: z.array(z.number()), lost: z.int() });
export type StreamDelays = z.output<typeof StreamDelays>;

/** Requests sent one every `everyMs`. */
export const PacePlan = z.object({
  url: z.url(),
  everyMs: z.number(),
  seconds: z.number(),
  requests: z.array(z.object({ path: z.string(), headers: z.record(z.string(), z.string()) })),
});
export type PacePlan = z.output<typeof PacePlan>;

/** In milliseconds; `failed` counts responses other than 200. */
export const Pace = z.object({ latencies: z.array(z.number()), failed: z.int() });
export type Pace = z.output<typeof Pace>;
