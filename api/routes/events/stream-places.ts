import { config } from "../../../lib/process/config.js";
import { clientNetwork } from "../../http/client-network.js";
import { Places } from "../../http/places.js";
import { refusalWith } from "../../http/refusal.js";
import { passing, retryFacts } from "../../http/refusals.js";

/** `Retry-After` of a refused stream; apps poll meanwhile. */
const RETRY_SECONDS = 30;

export const tooManyStreams = refusalWith(429, "RATE_LIMIT", "TOO_MANY_STREAMS", {
  detail: "You have as many live streams open as one caller may have.",
  remedy:
    "Close streams that you do not show any more, or share one among your tabs; until then read in the usual way.",
  facts: retryFacts,
  example: { retryAfterSeconds: RETRY_SECONDS },
});
export const streamsFull = passing(
  "STREAMS_FULL",
  "There is no place for another live stream at the moment.",
  RETRY_SECONDS,
  "Read in the usual way, and open the stream again after `retryAfterSeconds`.",
);

/** Streams without a token leave the last quarter of the places to users: partners work with their boards. */
const OPEN_TO_ANYONE = Math.floor((config.STREAMS_OPEN * 3) / 4);

/** The caller that streams count for, with its limit, and how many streams of all callers may be open when one of them begins. */
export interface StreamCaller {
  key: string;
  most: number;
  mostOfAll: number;
}

/** Streams with a token count for the user, others for the client's address. */
export const streamCaller = (userId: string | null, ip: string): StreamCaller =>
  userId === null
    ? { key: `address ${clientNetwork(ip)}`, most: config.STREAMS_PER_ADDRESS, mostOfAll: OPEN_TO_ANYONE }
    : { key: `user ${userId}`, most: config.STREAMS_PER_USER, mostOfAll: config.STREAMS_OPEN };

const places = new Places();
let all = 0;

/** Takes a place of the caller and of the process; throws when there is none. The returned function releases it. */
export function takePlace({ key, most, mostOfAll }: StreamCaller): () => void {
  const leave = places.take(key, most);
  if (leave === null) throw tooManyStreams({ retryAfterSeconds: RETRY_SECONDS });
  if (all >= mostOfAll) {
    leave();
    throw streamsFull();
  }
  all += 1;
  return () => {
    all -= 1;
    leave();
  };
}
