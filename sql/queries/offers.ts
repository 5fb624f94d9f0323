import type { Db } from "../db.js";
import type { BoxRow } from "./boxes.js";

/** A box in a list of offers. */
export interface OfferRow extends BoxRow {
  partnerName: string;
  latitude: number;
  longitude: number;
  /** The window's start to the microsecond, for the cursor of the next page. */
  startKey: string;
}

export interface NearOfferRow extends OfferRow {
  /** From the centre of the search, in metres. */
  distance: number;
}

export interface OfferFilter {
  cityId: string | null;
  maxPriceMinor: number | null;
  /** Only boxes whose pickup window overlaps this range. */
  availableFrom: Date | null;
  availableTo: Date | null;
}

export interface Circle {
  latitude: number;
  longitude: number;
  /** In metres. */
  radius: number;
}

/** Lists boxes on offer within a circle, nearest first, after the box `after`. */
export const listOffersNear = (
  db: Db,
  { latitude, longitude, radius }: Circle,
  { cityId, maxPriceMinor, availableFrom, availableTo }: OfferFilter,
  after: { distance: number; id: string } | null,
  limit: number,
) =>
  db<NearOfferRow[]>`
    select b.id, b.partner_id, b.title, b.description, b.price_minor, b.original_price_minor, b.weight_grams,
           b.max_per_customer, b.quantity_available, b.pickup_window_start, b.pickup_window_end,
           case when b.pickup_window_end > now() then b.status end as status,
           b.hidden_at is not null as hidden, b.image, p.name as partner_name, p.latitude, p.longitude,
           coalesce(near.distance, 0) as distance, b.pickup_window_start::text as start_key
    from boxes_near(
      ${latitude}::double precision, ${longitude}::double precision, ${radius}::double precision, ${cityId}::text,
      ${maxPriceMinor}::bigint, ${availableFrom}::timestamptz, ${availableTo}::timestamptz,
      ${after?.distance ?? null}::double precision, ${after?.id ?? null}::uuid, ${limit}::integer
    ) as near
    join boxes b on b.id = near.box_id
    join partners p on p.id = b.partner_id
    order by near.distance, b.id`;

/**
 * Lists boxes on offer, the earliest pickup window first, after the box `after`. `availableFrom` is compared in the same form
 * as in box_is_on_offer, which no index supports.
 */
export const listOffersSoon = (
  db: Db,
  { cityId, maxPriceMinor, availableFrom, availableTo }: OfferFilter,
  after: { startKey: string; id: string } | null,
  limit: number,
) => {
  const [start, id] = [after?.startKey ?? "-infinity", after?.id ?? "00000000-0000-0000-0000-000000000000"];
  return cityId === null
    ? db<OfferRow[]>`
        select b.id, b.partner_id, b.title, b.description, b.price_minor, b.original_price_minor, b.weight_grams,
               b.max_per_customer, b.quantity_available, b.pickup_window_start, b.pickup_window_end,
               case when b.pickup_window_end > now() then b.status end as status,
               b.hidden_at is not null as hidden, b.image, p.name as partner_name, p.latitude, p.longitude,
               b.pickup_window_start::text as start_key
        from boxes b
        join partners p on p.id = b.partner_id
        where box_is_on_offer(b, p)
          and (b.pickup_window_start, b.id) > (${start}::text::timestamptz, ${id}::uuid)
          and (${maxPriceMinor}::bigint is null or b.price_minor <= ${maxPriceMinor}::bigint)
          and (${availableFrom}::timestamptz is null or b.pickup_window_end - ${availableFrom}::timestamptz > interval '0')
          and (${availableTo}::timestamptz is null or b.pickup_window_start < ${availableTo}::timestamptz)
        order by b.pickup_window_start, b.id
        limit ${limit}`
    : db<OfferRow[]>`
        select b.id, b.partner_id, b.title, b.description, b.price_minor, b.original_price_minor, b.weight_grams,
               b.max_per_customer, b.quantity_available, b.pickup_window_start, b.pickup_window_end,
               case when b.pickup_window_end > now() then b.status end as status,
               b.hidden_at is not null as hidden, b.image, p.name as partner_name, p.latitude, p.longitude,
               b.pickup_window_start::text as start_key
        from boxes b
        join partners p on p.id = b.partner_id
        where b.city_id = ${cityId} and box_is_on_offer(b, p)
          and (b.pickup_window_start, b.id) > (${start}::text::timestamptz, ${id}::uuid)
          and (${maxPriceMinor}::bigint is null or b.price_minor <= ${maxPriceMinor}::bigint)
          and (${availableFrom}::timestamptz is null or b.pickup_window_end - ${availableFrom}::timestamptz > interval '0')
          and (${availableTo}::timestamptz is null or b.pickup_window_start < ${availableTo}::timestamptz)
        order by b.pickup_window_start, b.id
        limit ${limit}`;
};
