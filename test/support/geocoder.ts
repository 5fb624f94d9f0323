import { once } from "node:events";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

interface Place {
  latitude: number;
  longitude: number;
}

/** A server with the protocols of Nominatim and Yandex that knows the places a test adds. */
export async function startGeocoder() {
  const places = new Map<string, Place>();
  const asked: string[] = [];
  const paths: string[] = [];
  let failure: number | string | Iterable<string> | null = null;
  let held: Promise<void> | null = null;
  let silent = false;

  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? "/", "http://geocoder");
      paths.push(url.pathname);
      const address = url.searchParams.get("q") ?? url.searchParams.get("geocode") ?? "";
      asked.push(address);
      await held;
      if (silent) {
        request.socket.destroy();
        return;
      }
      if (typeof failure === "string") {
        response.writeHead(200, { "content-type": "application/json" }).end(failure);
        return;
      }
      if (typeof failure === "object" && failure !== null) {
        response.writeHead(200, { "content-type": "application/json" });
        await pipeline(Readable.from(failure), response).catch(() => undefined);
        return;
      }
      if (failure !== null) {
        response.writeHead(failure, { "content-type": "text/plain" }).end("not now");
        return;
      }
      const place = places.get(address);
      const body = url.pathname.endsWith("/search")
        ? place
          ? [{ lat: String(place.latitude), lon: String(place.longitude), display_name: address, address: {} }]
          : []
        : {
            response: {
              GeoObjectCollection: {
                featureMember: place
                  ? [
                      {
                        GeoObject: {
                          Point: { pos: `${place.longitude} ${place.latitude}` },
                          metaDataProperty: {
                            GeocoderMetaData: {
                              kind: "house",
                              precision: "exact",
                              text: address,
                              AddressDetails: { Country: { AddressLine: address, CountryNameCode: "RU" } },
                            },
                          },
                        },
                      },
                    ]
                  : [],
              },
            },
          };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the geocoder does not listen");

  return {
    url: `http://127.0.0.1:${address.port}`,
    places,
    /** Every requested address, in order. */
    asked,
    /** Every requested path, in order. */
    paths,
    /** Answers with this status or text from now on; null ends that. */
    fail: (status: number | string | Iterable<string> | null) => void (failure = status),
    /** Whether to close connections instead of answering. */
    silence: (on: boolean) => void (silent = on),
    /** Delays answers until the returned function is called. */
    hold(): () => void {
      let release = (): void => undefined;
      held = new Promise<void>((resolve) => (release = resolve));
      return () => {
        held = null;
        release();
      };
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
