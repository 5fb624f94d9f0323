import { z } from "zod";
import { contracts } from "../../../queues/index.js";
import { jobOwners, partnerEvents } from "../../common/overview.js";
import { ok, section } from "../../http/endpoint.js";
import { Id, Timestamp } from "../../http/schemas.js";

/** Whose work waits: who floods a queue, or the inbox of POS events. */
export const backlog = section({ prefix: "/admin/ops", tag: "Operations" });

backlog.get(
  "/queues/:queue/backlog",
  {
    name: "listJobOwners",
    summary: "Read which partners, users and webhook endpoints have the most of a queue's due jobs",
    description:
      "Ten of those that the jobs' payloads name, of the ten thousand jobs of the queue that are due first. A push is its user's and " +
      "its partner's. Jobs of neither, such as codes by SMS, are not counted.",
    auth: "OBSERVER",
    params: z.object({ queue: z.enum(contracts.map(({ queue }) => queue)).meta({ example: "push" }) }),
    answers: {
      200: z.array(
        z
          .object({
            partnerId: Id.nullable().meta({ description: "one of the three is not null" }),
            partner: z.string().nullable().meta({ description: "its name" }),
            userId: Id.nullable(),
            endpointId: Id.nullable(),
            jobs: z.int(),
            dueSince: Timestamp.meta({ description: "of the one that is due first" }),
          })
          .meta({ id: "JobOwner" }),
      ),
    },
  },
  async ({ params: { queue } }) => ok(await jobOwners(queue)),
);

backlog.get(
  "/pos-events/backlog",
  {
    name: "listPartnerEvents",
    summary: "Read which partners have the most POS events that are not applied",
    description: "Ten of them, by the first ten thousand events that are queued and as many that are parked.",
    auth: "OBSERVER",
    answers: {
      200: z.array(
        z
          .object({
            partnerId: Id,
            partner: z.string(),
            queued: z.int(),
            parked: z.int(),
            oldestAt: Timestamp.meta({ description: "when the first of them came in" }),
          })
          .meta({ id: "PartnerEvents" }),
      ),
    },
  },
  async () => ok([...(await partnerEvents())]),
);
