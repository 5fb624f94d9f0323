import { afterAll, beforeEach, expect, test } from "@jest/globals";
import fc from "fast-check";
import { startGeocoder } from "../../support/geocoder.js";

const geocoder = await startGeocoder();
process.env["GEOCODER"] = "yandex";
process.env["GEOCODER_KEY"] = "secret-key";
process.env["GEOCODER_URL"] = `${geocoder.url}/maps/`;

const { findPlace } = await import("../../../lib/geocoding/geocoder.js");

beforeEach(() => geocoder.fail(null));
afterAll(() => geocoder.stop());

test("each provider is asked in its own protocol", async () => {
  geocoder.places.set("Kremlin", { latitude: 55.752, longitude: 37.6175 });
  expect(await findPlace("Kremlin")).toEqual({ latitude: 55.752, longitude: 37.6175 });
  expect(await findPlace("Atlantis")).toBeNull();
  expect(new Set(geocoder.paths)).toEqual(new Set(["/maps/1.x/"]));
});

test("a refusal is an error that does not reveal the key", async () => {
  geocoder.fail(403);
  await expect(findPlace("Kremlin")).rejects.toThrow(/403/);
  await expect(findPlace("Kremlin")).rejects.not.toThrow(/secret-key/);
});

test("any other answer is an error, and never a crash", async () => {
  const valid = { response: { GeoObjectCollection: { featureMember: [{ GeoObject: { Point: { pos: "1 2" } } }] } } };
  const odd = fc.oneof(
    fc.json(),
    fc.constantFrom(
      "<html>",
      "",
      "null",
      "{}",
      "[null]",
      '{"response":{"GeoObjectCollection":{"featureMember":[{}]}}}',
    ),
    fc.jsonValue().map((more) => JSON.stringify({ ...valid, response: more })),
  );
  await fc.assert(
    fc.asyncProperty(odd, async (answer) => {
      geocoder.fail(answer);
      await expect(findPlace("Kremlin")).rejects.toThrow();
    }),
    { numRuns: 200 },
  );
});

test("an answer of more than a megabyte is an error, and is not read to its end", async () => {
  const nothing = '{"response":{"GeoObjectCollection":{"featureMember":[]}}}';
  geocoder.fail(nothing.padEnd(1_048_576));
  expect(await findPlace("Kremlin")).toBeNull();
  let bytes = 0;
  const flood = function* () {
    for (; bytes < 100_000_000; bytes += 65_536) yield " ".repeat(65_536);
  };
  geocoder.fail(flood());
  await expect(findPlace("Kremlin")).rejects.toThrow(/too large/);
  expect(bytes).toBeLessThan(20_000_000);
});

test("an answer without a valid place is an error", async () => {
  geocoder.places.set("Pole", { latitude: 155, longitude: 37 });
  await expect(findPlace("Pole")).rejects.toThrow();
});
