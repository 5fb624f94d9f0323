import { z } from "zod";
import type { ZodOpenApiOverrideMeta } from "zod-openapi";
import { limits } from "../../lib/domain/limits.js";
import { toMajor, toMinor } from "../../lib/domain/money.js";
import { phonePattern } from "../../lib/domain/phone.js";
import { isTimeZone } from "../../lib/domain/time-zones.js";

/** Replaces a schema in the OpenAPI document: it shows the value's meaning instead of its check. */
export const shownAs =
  (schema: Record<string, unknown>): ZodOpenApiOverrideMeta =>
  ({ jsonSchema }) => {
    delete jsonSchema.anyOf;
    delete jsonSchema.pattern;
    Object.assign(jsonSchema, schema);
  };

/** Text that Postgres can store: no NUL, no lone surrogate; trimmed. */
export const text = (max: number, min = 1) =>
  z
    .string()
    .trim()
    .min(min)
    .max(max)
    .refine((value) => !value.includes("\u0000") && value.isWellFormed(), "must be valid text without NUL characters");

/** A field that may be left out, which then is null. */
export const orNull = <S extends z.ZodType>(field: S) => field.optional().transform((value) => value ?? null);

/** The body of a partial update: any of these fields, at least one. */
export const changesOf = <S extends z.core.$ZodLooseShape>(fields: S) =>
  z
    .object(fields)
    .partial()
    .refine((changes) => Object.values(changes).some((value) => value !== undefined), "must change at least one field")
    .meta({ description: "Any of the fields, at least one; other fields stay unchanged." });

/** Returns a row with the fields that a partial update sends. */
export function withChanges<Row extends object>(
  row: Row,
  changes: { [Field in keyof Row]?: Row[Field] | undefined },
): Row {
  const sent = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...row, ...Object.fromEntries(sent) };
}

export const Id = z
  .uuid()
  .toLowerCase()
  .meta({ description: "UUID v7", example: "01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f" });

export const Phone = z
  .string()
  .regex(phonePattern, "must be +7 followed by 10 digits")
  .meta({ example: "+79991234567" });

const maxAmount = toMajor(limits.priceMinor);

const amountUpTo = (most: number) =>
  z
    .number()
    .min(0)
    .max(most)
    .transform((major, context) => {
      const minor = toMinor(major);
      if (minor !== null) return minor;
      context.addIssue({ code: "custom", message: "must have at most two decimals" });
      return z.NEVER;
    })
    .meta({ description: "Major units, at most two decimals", example: 249.9 });

/** Money as callers send it, in major units; parsed to minor units. */
export const Amount = amountUpTo(maxAmount);

/** The total of an order, which may exceed the highest price. */
export const TotalAmount = amountUpTo(maxAmount * 10_000);

/** Money in a query string, in major units; parsed to minor units. */
export const QueryAmount = z
  .string()
  .regex(/^\d{1,8}(\.\d{1,2})?$/, "must be an amount with at most two decimals")
  .transform((major) => toMinor(Number(major)) ?? 0)
  .refine((minor) => minor <= limits.priceMinor, `must be at most ${maxAmount}`)
  .meta({ description: "Major units", override: shownAs({ type: "number", minimum: 0, maximum: maxAmount }) });

/** Money as callers see it, in major units. */
export const Money = z.number().meta({ description: "Major units, at most two decimals", example: 249.9 });

/** A percentage with at most two decimals. */
export const Percent = z
  .number()
  .min(0)
  .max(100)
  .refine((percent) => toMinor(percent) !== null, "must have at most two decimals")
  .meta({ description: "percent, at most two decimals", example: 15 });

/** An instant as callers send it: ISO 8601 with an offset, seconds or not; parsed to a Date. */
export const Instant = z
  .union([z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })], {
    error: "must be ISO 8601 with an offset, such as 2026-06-01T18:00:00+03:00",
  })
  .transform((value) => new Date(value))
  .refine(
    (date) => date.getUTCFullYear() >= 2000 && date.getUTCFullYear() < 2200,
    "must be between the years 2000 and 2200",
  )
  .meta({
    description: "ISO 8601 with an offset",
    example: "2026-06-01T18:00:00+03:00",
    override: shownAs({ type: "string", format: "date-time" }),
  });

/** A day as callers send it. An invalid one is refused before days are counted from it. */
export const Day = z.iso
  .date({ abort: true })
  .refine((day) => day >= "2000-01-01" && day < "2200-01-01", {
    error: "must be between the years 2000 and 2200",
    abort: true,
  })
  .meta({ example: "2026-06-01" });

/** An instant as callers see it: UTC with milliseconds, which JSON makes of a Date. */
export const Timestamp = z.date().meta({
  example: "2026-06-01T15:00:00.000Z",
  override: shownAs({ type: "string", format: "date-time", pattern: z.regexes.datetime({ precision: 3 }).source }),
});

/** When something that goes on will have ended (`estimateEnd`). */
export const EstimatedEnd = Timestamp.nullable().meta({
  description: "when it will be done if it goes on as it did; null while that cannot be told, and when it has ended",
});

export const Latitude = z.number().min(-90).max(90);
export const Longitude = z.number().min(-180).max(180);

export const Zone = z.string().max(64).refine(isTimeZone, "must be an IANA time zone such as Europe/Moscow");

/** A boolean in a query string. */
export const QueryFlag = z.enum(["true", "false", "1", "0"]).transform((value) => value === "true" || value === "1");

export const Locale = z
  .string()
  .regex(/^[a-z]{2}-[A-Z]{2}$/, "must be a language and a region such as ru-RU")
  .meta({ example: "ru-RU" });

export const CityId = z
  .string()
  .regex(/^[\w.:-]{1,64}$/, "must be 1 to 64 letters, digits, - _ . :")
  .meta({ description: "the platform's key of the city", example: "moscow" });

/** A web address that apps open or show. Only https: apps block plain http by default. */
export const HttpsAddress = z
  .string()
  .max(2_048)
  .regex(/^https:\/\/[\w.-]+(:\d{1,5})?([/?#][\x21-\x7e]*)?$/, "must be an https address in ASCII")
  .refine((address) => URL.canParse(address), "must be an address")
  .meta({ example: "https://cdn.example.com/banner.webp" });

/** A place for banners in an app. */
export const Placement = z
  .string()
  .regex(/^[\w.:-]{1,50}$/, "must be 1 to 50 letters, digits, - _ . :")
  .meta({ example: "home-top" });
