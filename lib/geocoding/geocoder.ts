import { z } from "zod";
import { config } from "../process/config.js";
import { inSpan } from "../process/traces.js";

const timeoutMs = 8_000;
const maxAnswerBytes = 1_048_576;

export interface Place {
  latitude: number;
  longitude: number;
}

/** Whether a provider is configured. */
export const hasGeocoder = config.GEOCODER !== "none";

const decimal = z.string().regex(/^-?\d{1,3}(\.\d+)?$/);

/**
 * The part of each provider's response with the coordinates. node-geocoder does not check responses: a malformed one would
 * end the process, out of reach of any `catch`. So it gets only this part, checked.
 */
const answers = {
  openstreetmap: z.array(z.object({ lat: decimal, lon: decimal })),
  yandex: z.object({
    response: z.object({
      GeoObjectCollection: z.object({
        featureMember: z.array(
          z.object({
            GeoObject: z.object({
              Point: z.object({ pos: z.string().regex(/^-?\d{1,3}(\.\d+)? -?\d{1,3}(\.\d+)?$/) }),
              metaDataProperty: z.unknown().transform(() => ({ GeocoderMetaData: { AddressDetails: {} } })),
            }),
          }),
        ),
      }),
    }),
  }),
  google: z.object({
    status: z.string(),
    results: z
      .array(
        z.object({
          geometry: z.object({ location: z.object({ lat: z.number(), lng: z.number() }) }),
          address_components: z.unknown().transform(() => []),
        }),
      )
      .default([]),
  }),
};

/** Returns the provider's address, moved below GEOCODER_URL when that is set. */
function addressed(url: string): URL {
  const address = new URL(url);
  if (config.GEOCODER_URL === undefined) return address;
  const own = new URL(config.GEOCODER_URL);
  const pathname = own.pathname.replace(/\/$/, "") + address.pathname;
  return Object.assign(address, { protocol: own.protocol, host: own.host, pathname });
}

/** Reads the text of a response; throws as soon as it exceeds the limit. */
async function readText({ body }: Response): Promise<string> {
  const stream: AsyncIterable<Uint8Array> | null = body;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // leaving the loop cancels the stream
  for await (const chunk of stream ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error("the geocoder's answer is too large");
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** The code of the error when the provider gives no response; of an error in `fetch`, node-geocoder keeps the message and this. */
const NO_RESPONSE = "NO_RESPONSE";

/** Whether `findPlace` failed because the provider gave no response. */
export const gaveNoResponse = (error: unknown): boolean =>
  error instanceof Error && Reflect.get(error, "code") === NO_RESPONSE;

function throwNoResponse(): never {
  throw Object.assign(new Error("the geocoder gives no answer"), { code: NO_RESPONSE });
}

/** Fetches for node-geocoder; throws when the response is no success or malformed. */
async function ask(provider: keyof typeof answers, url: string): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await inSpan("geocoder", { kind: "client" }, async (span) => {
    const headers = { "user-agent": "surplus-food marketplace" };
    const answer = await fetch(addressed(url), { headers, redirect: "error", signal });
    span?.set({ "http.response.status_code": answer.status });
    return answer;
  }).catch(throwNoResponse);
  if (!response.ok) throw new Error(`the geocoder answered ${response.status}`);
  const text = await readText(response).catch((error: unknown) => {
    if (signal.aborted) throwNoResponse();
    throw error;
  });
  const answer = answers[provider].safeParse(JSON.parse(text));
  if (!answer.success) throw new Error("the geocoder's answer is malformed");
  return Response.json(answer.data);
}

const { GEOCODER: provider } = config;

const geocoder =
  provider === "none"
    ? undefined
    : (await import("node-geocoder")).default({
        provider,
        apiKey: config.GEOCODER_KEY ?? "",
        fetch: (url) => ask(provider, url),
      });

/** Asks the provider where an address is; null when it does not know it. Throws when the provider does not answer. */
export async function findPlace(address: string): Promise<Place | null> {
  if (address === "") return null;
  const [best] = (await geocoder?.geocode(address)) ?? [];
  const { latitude, longitude } = best ?? {};
  if (typeof latitude !== "number" || typeof longitude !== "number") return null;
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) throw new Error("the geocoder's answer is no place");
  return { latitude, longitude };
}
