import { z } from "zod";

// What the bench asks the programs that measure, and what they answer.

/** Requests to send over so many connections for so long, as fast as they are answered. */
export const LoadPlan = z.object({
  url: z.url(),
  connections: z.int(),
  seconds: z.number(),
  requests: z.array(
    z.object({
      method: z.enum(["GET", "POST"]),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string().optional(),
    }),
  ),
  /** A header that has another value in every request. */
  uniqueHeader: z.string().optional(),
  /** Each request's body is an event of a POS: it gets another id in every request, and is signed with this. */
  webhookSecret: z.string().optional(),
});
export type LoadPlan = z.output<typeof LoadPlan>;

export const Load = z.object({
  perSecond: z.number(),
  p99Ms: z.number(),
  /** Answers other than 2xx, and requests without an answer. */
  failed: z.int(),
  /** Share of one core that sending the requests took. */
  busy: z.number(),
});
export type Load = z.output<typeof Load>;

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

const Handle = z.enum(["sql", "lookups", "contended", "postgres.js"]);

/** Reads of these boxes by so many clients, beside as many others who do something else through the same or another handle. */
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

/** A file of so many rows to import, into a menu that has none of them or has all of them with other prices. */
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

/** With the CPU time that the process took for each message. */
export const DeliveryRate = z.object({ perSecond: z.number(), cpuMicros: z.number() });

/** Notifications to bring to their end, through the service; or as many jobs that are nothing to do, through BullMQ alone. */
export const PassPlan = z.object({ how: z.enum(["service", "bare"]), jobs: z.int() });
export type PassPlan = z.output<typeof PassPlan>;

/** Tells all who like the bakery of a new box; or writes as many notifications with one statement. */
export const FanOutPlan = z.object({ how: z.enum(["worker", "bare"]), followers: z.int() });
export type FanOutPlan = z.output<typeof FanOutPlan>;

/** Days to roll up, or dashboards to read, for so long. */
export const RollupPlan = z.object({
  how: z.enum(["worker", "bare", "everything", "dashboard", "raw"]),
  seconds: z.number(),
});
export type RollupPlan = z.output<typeof RollupPlan>;

export const Rate = z.object({ perSecond: z.number() });
export type Rate = z.output<typeof Rate>;

/** A pull of a POS menu with so many items, into an empty menu or one that has them all. */
export const PullPlan = z.object({ how: z.enum(["service", "bare"]), items: z.int(), known: z.boolean() });
export type PullPlan = z.output<typeof PullPlan>;

export const PickUpPlan = z.object({ samples: z.int() });
export type PickUpPlan = z.output<typeof PickUpPlan>;

/** In milliseconds: from commit to start of staged jobs, from adding to completion of bare ones. */
export const Latencies = z.object({ staged: z.array(z.number()), bare: z.array(z.number()) });
export type Latencies = z.output<typeof Latencies>;
