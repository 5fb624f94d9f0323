import { z } from "zod";
import { shownAs } from "../http/schemas.js";

const degrees = (most: number) =>
  z
    .string()
    .regex(/^[+-]?\d{1,3}(\.\d{1,20})?$/, "must be degrees, such as 55.7558")
    .transform(Number)
    .refine((value) => Math.abs(value) <= most, `must be between -${most} and ${most}`)
    .meta({ override: shownAs({ type: "number", minimum: -most, maximum: most }) });

const maxRadius = 50_000;

/** The query parameters of a circle. */
export const LocatedQuery = {
  lat: degrees(90).optional(),
  lng: degrees(180).optional(),
  radius: z
    .string()
    .regex(/^\d{1,5}(\.\d{1,6})?$/, "must be metres")
    .transform(Number)
    .refine((metres) => metres > 0 && metres <= maxRadius, `must be above 0 and at most ${maxRadius}`)
    .prefault("5000")
    .meta({
      description: "metres",
      override: shownAs({ type: "number", exclusiveMinimum: 0, maximum: maxRadius, default: 5_000 }),
    }),
};

/** Refuses one coordinate without the other. */
export function requireBoth(
  { lat, lng }: { lat?: number | undefined; lng?: number | undefined },
  context: z.RefinementCtx,
) {
  if ((lat === undefined) === (lng === undefined)) return;
  context.addIssue({
    code: "custom",
    path: [lat === undefined ? "lat" : "lng"],
    message: "must be given together with the other coordinate",
  });
}

/** Metres, to the decimetre. */
export const presentDistance = (metres: number) => Math.round(metres * 10) / 10;
