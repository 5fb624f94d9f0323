import { z } from "zod";
import { accessTokenSeconds } from "../../../lib/security/tokens.js";
import { sql } from "../../../sql/db.js";
import { findOrder } from "../../../sql/queries/orders.js";
import type { StreamGrant } from "../../../sql/queries/streams.js";
import { seenPosition } from "../../common/event-tail.js";
import { found, ok, section } from "../../http/endpoint.js";
import { EventStream } from "../../http/event-stream.js";
import { CityId } from "../../http/schemas.js";
import { missedInCity, sentPosition } from "./availability.js";
import { firstFrame, followLog, missedByPartner, missedOfOrder, positionIn, type Missed } from "./live.js";
import { OpenStream, type Terms } from "./open-streams.js";
import { streamCaller, streamsFull, tooManyStreams } from "./stream-places.js";

const Resume = z.object({
  "last-event-id": z.string().max(100).optional().meta({
    description: "the `id` of the last message: what came since then comes first",
    example: "2078200000000042",
  }),
});

/** The declaration that all streams share. */
const stream = {
  headers: Resume,
  mediaType: "text/event-stream",
  answers: { 200: EventStream },
  errors: [tooManyStreams, streamsFull],
  waits: true,
} as const;

const howItWorks =
  "Server-sent events; see the conventions. `start` comes first, or when too much was missed: read the present state then.";

/** Returns the end of a stream: that of its token, or for a public stream the lifetime of one. */
const endOf = (expiresAt: number | null): number =>
  performance.now() + Math.min(accessTokenSeconds * 1_000, (expiresAt ?? Number.POSITIVE_INFINITY) - Date.now());

/** Opens a stream that begins with the events since the caller's last message. */
async function openStream(terms: Terms, lastSeen: string | undefined, missed: Missed) {
  const opened = new OpenStream(terms, followLog);
  try {
    const first = await firstFrame(positionIn(lastSeen), missed);
    return ok((response: Parameters<OpenStream["begin"]>[0]) => opened.begin(response, first));
  } catch (error) {
    opened.close("client");
    throw error;
  }
}

const grantOf = (userId: string, sessionId: string | null, of: Partial<StreamGrant>): StreamGrant => ({
  userId,
  sessionId,
  partnerId: null,
  orderId: null,
  ...of,
});

export const partnerStream = section({ prefix: "/partners/me/stream", tag: "Events" });

partnerStream.get(
  "/",
  {
    name: "streamPartner",
    summary: "Follow your partner's orders and boxes live",
    description:
      "The events `order.*` and `box.*` of the log as they happen, each with its type as `event`, its position as `id` and as `data` " +
      `what \`GET /events\` shows of it. ${howItWorks}`,
    auth: "PARTNER",
    ...stream,
  },
  ({ user, partner, sessionId, expiresAt, headers, ip }) =>
    openStream(
      {
        topic: "partner",
        id: partner.id,
        caller: streamCaller(user.id, ip),
        grant: grantOf(user.id, sessionId, { partnerId: partner.id }),
        endsAt: endOf(expiresAt),
        reached: seenPosition,
      },
      headers["last-event-id"],
      missedByPartner(partner.id),
    ),
);

export const orderStreams = section({ prefix: "/orders", tag: "Events" });

orderStreams.get(
  "/:id/stream",
  {
    name: "streamOrder",
    summary: "Follow an order live",
    description:
      "For its customer and its partner; others get 404. The events `order.*` of this order; `data` is its `orderId`, its `status` " +
      `from then on, and the time \`at\`. ${howItWorks}`,
    auth: "USER",
    ...stream,
  },
  async ({ user, params: { id }, sessionId, expiresAt, headers, ip }) => {
    const { partnerId } = found(await findOrder(sql, id, user.id), "This order");
    return openStream(
      {
        topic: "order",
        id,
        caller: streamCaller(user.id, ip),
        grant: grantOf(user.id, sessionId, { orderId: id }),
        endsAt: endOf(expiresAt),
        reached: seenPosition,
      },
      headers["last-event-id"],
      missedOfOrder(partnerId, id),
    );
  },
);

export const boxStream = section({ prefix: "/boxes/stream", tag: "Events" });

boxStream.get(
  "/",
  {
    name: "streamBoxes",
    summary: "Follow the availability of a city's boxes live",
    description:
      "`availability` comes at most once a second and has as `data` the `boxes` that have changed: `boxId`, `partnerId`, and how many " +
      "can be ordered now as `quantityAvailable`: 0 when it is sold out, hidden, deleted or over. A box may come that has not " +
      `changed, and one that you do not know: read it. ${howItWorks}`,
    auth: "ANYONE",
    query: z.object({ cityId: CityId }),
    ...stream,
  },
  ({ query: { cityId }, expiresAt, headers, ip }) =>
    openStream(
      {
        topic: "city",
        id: cityId,
        caller: streamCaller(null, ip),
        grant: null,
        endsAt: endOf(expiresAt),
        reached: sentPosition,
      },
      headers["last-event-id"],
      missedInCity(cityId),
    ),
);
