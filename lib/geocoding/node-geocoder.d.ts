/** The part of node-geocoder that is used; DefinitelyTyped's types are for another `fetch`. */
declare module "node-geocoder" {
  interface Options {
    provider: "openstreetmap" | "yandex" | "google";
    apiKey: string;
    fetch: (url: string) => Promise<Response>;
  }
  interface Found {
    latitude?: number | null;
    longitude?: number | null;
  }
  export default function nodeGeocoder(options: Options): { geocode(address: string): Promise<Found[]> };
}
