import NodeGeocoder from "node-geocoder";
import { z } from "zod";
import { config } from "../process/config.js";

const timeoutMs = 8_000;
const maxAnswerBytes = 1_048_576;

export interface Place {
  latitude: number;
  longitude: number;
}

/** Whether there is a provider to ask. */
export const hasGeocoder = config.GEOCODER !== "none";

const decimal = z.string().regex(/^-?\d{1,3}(\.\d+)?$/);

/**
 * The part of each provider's answer that says where. node-geocoder trusts what it is given: an answer of another form would
 * end this process, out of reach of any `catch`. So it gets this part, checked, and nothing else.
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

/** The provider's own address, or the same below the one of a server that speaks its protocol. */
function addressed(url: string): URL {
  const address = new URL(url);
  if (config.GEOCODER_URL === undefined) return address;
  const own = new URL(config.GEOCODER_URL);
  const pathname = own.pathname.replace(/\/$/, "") + address.pathname;
  return Object.assign(address, { protocol: own.protocol, host: own.host, pathname });
}

/** The text of an answer; throws when it is larger than any answer is, before more than that is read. */
async function readText({ body }: Response): Promise<string> {
  const stream: AsyncIterable<Uint8Array> | null = body;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // whoever leaves the loop cancels the rest
  for await (const chunk of stream ?? []) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw new Error("the geocoder's answer is too large");
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** As node-geocoder asks for it; what is no success, or of no known form, is no answer. */
async function ask(provider: keyof typeof answers, url: string): Promise<Response> {
  const response = await fetch(addressed(url), {
    headers: { "user-agent": "surplus-food marketplace" },
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) throw new Error(`the geocoder answered ${response.status}`);
  const answer = answers[provider].safeParse(JSON.parse(await readText(response)));
  if (!answer.success) throw new Error("the geocoder's answer has another form than expected");
  return Response.json(answer.data);
}

const { GEOCODER: provider } = config;

const geocoder =
  provider === "none"
    ? undefined
    : NodeGeocoder({
        provider,
        apiKey: config.GEOCODER_KEY ?? "",
        fetch: (url) => ask(provider, url),
      });

/** Asks the provider where an address is; null when it knows no such place. Throws when it gives no answer. */
export async function findPlace(address: string): Promise<Place | null> {
  if (address === "") return null;
  const [best] = (await geocoder?.geocode(address)) ?? [];
  const { latitude, longitude } = best ?? {};
  if (typeof latitude !== "number" || typeof longitude !== "number") return null;
  if (!(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180)) throw new Error("the geocoder's answer is no place");
  return { latitude, longitude };
}
