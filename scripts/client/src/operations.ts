// Made by `npm run client` from the OpenAPI document. Do not edit.
// The generator does not know exactOptionalPropertyTypes; a test checks the types as apps see them, in the built package.
// @ts-nocheck
import * as Oazapfts from "@oazapfts/runtime";
import * as QS from "@oazapfts/runtime/query";
export const defaults: Oazapfts.Defaults<Oazapfts.CustomHeaders> = {
    headers: {},
    baseUrl: "/"
};
const oazapfts = Oazapfts.runtime(defaults);
export const servers = {};
export type Offer = {
    /** UUID v7 */
    id: string;
    /** UUID v7 */
    partnerId: string;
    title: string;
    description: string | null;
    /** Major units, at most two decimals */
    price: number;
    originalPrice: number | null;
    weightGrams: number | null;
    /** how many one customer may have; null: any number */
    maxPerCustomer: number | null;
    quantityAvailable: number;
    pickupWindowStart: string;
    pickupWindowEnd: string;
    status: "ACTIVE" | "SOLD_OUT" | "EXPIRED";
    hidden: boolean;
    imageUrl: string | null;
    thumbnailUrl: string | null;
    partnerName: string;
    latitude: number;
    longitude: number;
    /** null without `lat` and `lng` */
    distanceMeters: number | null;
};
export type UnreadableProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#UNREADABLE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "UNREADABLE";
    requestId: string;
};
export type OutOfRangeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OUT_OF_RANGE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "OUT_OF_RANGE";
    requestId: string;
};
export type FieldError = {
    path: string;
    message: string;
};
export type InvalidInputProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#INVALID_INPUT";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "INVALID_INPUT";
    requestId: string;
    errors: FieldError[];
};
export type TooManyRequestsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_REQUESTS";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "TOO_MANY_REQUESTS";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type InternalProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#INTERNAL";
    title: "Internal error";
    status: 500;
    /** for people; its wording may change */
    detail: string;
    code: "INTERNAL";
    reason: "INTERNAL";
    requestId: string;
};
export type OverloadedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OVERLOADED";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "OVERLOADED";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type DatabaseUnreachableProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#DATABASE_UNREACHABLE";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "DATABASE_UNREACHABLE";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type DatabaseOverloadedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#DATABASE_OVERLOADED";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "DATABASE_OVERLOADED";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type DatabaseContendedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#DATABASE_CONTENDED";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "DATABASE_CONTENDED";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type DatabaseTooSlowProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#DATABASE_TOO_SLOW";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "DATABASE_TOO_SLOW";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type NotJsonProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOT_JSON";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "NOT_JSON";
    requestId: string;
};
export type NotSentAsJsonProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOT_SENT_AS_JSON";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "NOT_SENT_AS_JSON";
    requestId: string;
};
export type TokenInvalidProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOKEN_INVALID";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "UNAUTHORIZED";
    reason: "TOKEN_INVALID";
    requestId: string;
};
export type TokenExpiredProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOKEN_EXPIRED";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "UNAUTHORIZED";
    reason: "TOKEN_EXPIRED";
    requestId: string;
};
export type SessionEndedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#SESSION_ENDED";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "UNAUTHORIZED";
    reason: "SESSION_ENDED";
    requestId: string;
};
export type TokenMissingProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOKEN_MISSING";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "UNAUTHORIZED";
    reason: "TOKEN_MISSING";
    requestId: string;
};
export type PartnersOnlyProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PARTNERS_ONLY";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "PARTNERS_ONLY";
    requestId: string;
};
export type PartnerNotActiveProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PARTNER_NOT_ACTIVE";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "PARTNER_NOT_ACTIVE";
    requestId: string;
    partnerStatus: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
};
export type RequestTooSlowProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#REQUEST_TOO_SLOW";
    title: "Request timeout";
    status: 408;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "REQUEST_TOO_SLOW";
    requestId: string;
};
export type ImageNotReadyProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#IMAGE_NOT_READY";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "IMAGE_NOT_READY";
    requestId: string;
    errors: FieldError[];
};
export type BodyTooLargeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#BODY_TOO_LARGE";
    title: "Too large";
    status: 413;
    /** for people; its wording may change */
    detail: string;
    code: "PAYLOAD_TOO_LARGE";
    reason: "BODY_TOO_LARGE";
    requestId: string;
};
export type PartnerBox = {
    /** UUID v7 */
    id: string;
    /** UUID v7 */
    partnerId: string;
    title: string;
    description: string | null;
    /** Major units, at most two decimals */
    price: number;
    originalPrice: number | null;
    weightGrams: number | null;
    /** how many one customer may have; null: any number */
    maxPerCustomer: number | null;
    quantityAvailable: number;
    pickupWindowStart: string;
    pickupWindowEnd: string;
    status: "ACTIVE" | "SOLD_OUT" | "EXPIRED";
    hidden: boolean;
    imageUrl: string | null;
    thumbnailUrl: string | null;
    /** when it is listed again; only for the partner's owner and staff */
    repeat?: {
        days: number[];
        until: string;
    } | null;
};
export type NotFoundProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOT_FOUND";
    title: "Not found";
    status: 404;
    /** for people; its wording may change */
    detail: string;
    code: "NOT_FOUND";
    reason: "NOT_FOUND";
    requestId: string;
};
export type Box = {
    /** UUID v7 */
    id: string;
    /** UUID v7 */
    partnerId: string;
    title: string;
    description: string | null;
    /** Major units, at most two decimals */
    price: number;
    originalPrice: number | null;
    weightGrams: number | null;
    /** how many one customer may have; null: any number */
    maxPerCustomer: number | null;
    quantityAvailable: number;
    pickupWindowStart: string;
    pickupWindowEnd: string;
    status: "ACTIVE" | "SOLD_OUT" | "EXPIRED";
    hidden: boolean;
    imageUrl: string | null;
    thumbnailUrl: string | null;
    items: {
        /** UUID v7 */
        menuItemId: string;
        name: string;
        qty: number;
    }[];
};
export type BoxExpiredProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#BOX_EXPIRED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "BOX_EXPIRED";
    requestId: string;
};
export type BoxHasOrdersProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#BOX_HAS_ORDERS";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "BOX_HAS_ORDERS";
    requestId: string;
};
export type NothingToRepeatProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOTHING_TO_REPEAT";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "NOTHING_TO_REPEAT";
    requestId: string;
};
export type NearbyPartner = {
    /** UUID v7 */
    partnerId: string;
    latitude: number;
    longitude: number;
    distanceMeters: number;
};
export type GeocoderSilentProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#GEOCODER_SILENT";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "GEOCODER_SILENT";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type GeocoderBusyProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#GEOCODER_BUSY";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "GEOCODER_BUSY";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type KeyUnknownProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#KEY_UNKNOWN";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "UNAUTHORIZED";
    reason: "KEY_UNKNOWN";
    requestId: string;
};
export type KeyScopeMissingProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#KEY_SCOPE_MISSING";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "KEY_SCOPE_MISSING";
    requestId: string;
    scope: "ads:read" | "events:read" | "geo:write" | "ops:read" | "webhooks:write";
};
export type AdminsOnlyProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ADMINS_ONLY";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "ADMINS_ONLY";
    requestId: string;
};
export type OrderReceipt = {
    /** UUID v7 */
    orderId: string;
    status: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
    estimatedReadyAt: string;
    /** Major units, at most two decimals */
    totalAmount: number;
    discountCents: number;
    /** Major units, at most two decimals */
    amountDue: number;
    /** shown by the customer at pickup */
    pickupCode: string;
    items: {
        /** UUID v7 */
        menuItemId: string;
        name: string;
        /** Major units, at most two decimals */
        price: number;
        qty: number;
    }[];
};
export type NoPartnerProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NO_PARTNER";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "NO_PARTNER";
    requestId: string;
    errors: FieldError[];
};
export type UnknownItemsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#UNKNOWN_ITEMS";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "UNKNOWN_ITEMS";
    requestId: string;
    errors: FieldError[];
    "unknown": string[];
};
export type WindowClosedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#WINDOW_CLOSED";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "WINDOW_CLOSED";
    requestId: string;
    errors: FieldError[];
    /** the boxes that can no longer be picked up */
    closed: {
        /** UUID v7 */
        menuItemId: string;
        pickupWindowEnd: string;
    }[];
};
export type WrongTotalProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#WRONG_TOTAL";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "WRONG_TOTAL";
    requestId: string;
    errors: FieldError[];
    expected: {
        /** Major units, at most two decimals */
        totalAmount: number;
        discountCents: number;
        /** Major units, at most two decimals */
        amountDue: number;
    };
};
export type PromoUnknownProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_UNKNOWN";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PROMO";
    reason: "PROMO_UNKNOWN";
    requestId: string;
    valid: boolean;
    discountCents: number;
    error: "UNKNOWN";
};
export type PromoNotStartedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_NOT_STARTED";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PROMO";
    reason: "PROMO_NOT_STARTED";
    requestId: string;
    valid: boolean;
    discountCents: number;
    error: "NOT_STARTED";
};
export type PromoEndedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_ENDED";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PROMO";
    reason: "PROMO_ENDED";
    requestId: string;
    valid: boolean;
    discountCents: number;
    error: "ENDED";
};
export type PromoOtherPartnerProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_OTHER_PARTNER";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PROMO";
    reason: "PROMO_OTHER_PARTNER";
    requestId: string;
    valid: boolean;
    discountCents: number;
    error: "OTHER_PARTNER";
};
export type PromoMinimumNotMetProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_MINIMUM_NOT_MET";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PROMO";
    reason: "PROMO_MINIMUM_NOT_MET";
    requestId: string;
    valid: boolean;
    discountCents: number;
    error: "MINIMUM_NOT_MET";
};
export type PromoUsedUpProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_USED_UP";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PROMO";
    reason: "PROMO_USED_UP";
    requestId: string;
    valid: boolean;
    discountCents: number;
    error: "USED_UP";
};
export type PromoUsedByYouProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_USED_BY_YOU";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PROMO";
    reason: "PROMO_USED_BY_YOU";
    requestId: string;
    valid: boolean;
    discountCents: number;
    error: "USED_BY_YOU";
};
export type DuplicateProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#DUPLICATE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "DUPLICATE";
    reason: "DUPLICATE";
    requestId: string;
    /** UUID v7 */
    orderId: string;
    orderStatus: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
    estimatedReadyAt: string;
};
export type KeyReusedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#KEY_REUSED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "KEY_REUSED";
    requestId: string;
};
export type PartnerInactiveProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PARTNER_INACTIVE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "PARTNER_INACTIVE";
    requestId: string;
};
export type TooManyOpenProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_OPEN";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "TOO_MANY_OPEN";
    requestId: string;
    /** how many open orders the customer may have */
    allowed: number;
    /** orders that were not picked up, when they are why; else null */
    missed: number | null;
};
export type WindowJustClosedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#WINDOW_JUST_CLOSED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "WINDOW_JUST_CLOSED";
    requestId: string;
    /** the boxes that can no longer be picked up */
    closed: {
        /** UUID v7 */
        menuItemId: string;
        pickupWindowEnd: string;
    }[];
};
export type NotEnoughProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOT_ENOUGH";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "NOT_ENOUGH";
    requestId: string;
    /** what is left of each box that is short */
    available: {
        /** UUID v7 */
        menuItemId: string;
        quantityAvailable: number;
    }[];
};
export type CustomerLimitProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#CUSTOMER_LIMIT";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "CUSTOMER_LIMIT";
    requestId: string;
    limited: {
        /** UUID v7 */
        menuItemId: string;
        maxPerCustomer: number;
        /** how many more this customer may order */
        remaining: number;
    }[];
};
export type TooManyUnknownPromosProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_UNKNOWN_PROMOS";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "TOO_MANY_UNKNOWN_PROMOS";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type Order = {
    /** UUID v7 */
    orderId: string;
    status: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
    estimatedReadyAt: string;
    /** Major units, at most two decimals */
    totalAmount: number;
    discountCents: number;
    /** Major units, at most two decimals */
    amountDue: number;
    /** only for the customer; null for other callers */
    pickupCode: string | null;
    items: {
        /** UUID v7 */
        menuItemId: string;
        name: string;
        /** Major units, at most two decimals */
        price: number;
        qty: number;
    }[];
    /** UUID v7 */
    partnerId: string;
    address: string | null;
    /** null for an order without boxes */
    pickupWindowStart: string | null;
    pickupWindowEnd: string | null;
    createdAt: string;
};
export type OrderEvent = {
    /** null when the order was placed */
    "from": ("ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW") | null;
    to: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
    by: "CUSTOMER" | "PARTNER" | "SERVICE";
    at: string;
};
export type OrderMoveNotAllowedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ORDER_MOVE_NOT_ALLOWED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ORDER_MOVE_NOT_ALLOWED";
    requestId: string;
    orderStatus: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
};
export type TooLateToCancelProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_LATE_TO_CANCEL";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "TOO_LATE_TO_CANCEL";
    requestId: string;
    orderStatus: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
};
export type OrderNotDeclinableProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ORDER_NOT_DECLINABLE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ORDER_NOT_DECLINABLE";
    requestId: string;
};
export type WrongPickupCodeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#WRONG_PICKUP_CODE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_CODE";
    reason: "WRONG_PICKUP_CODE";
    requestId: string;
};
export type Banner = {
    /** UUID v7 */
    id: string;
    imageUrl: string;
    link: string;
    placement: string;
    startsAt: string;
    endsAt: string;
};
export type MalformedInputProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#MALFORMED_INPUT";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "MALFORMED_INPUT";
    requestId: string;
    errors: FieldError[];
};
export type UserProfile = {
    /** UUID v7 */
    id: string;
    serviceId: string;
    phone: string;
    firstName: string | null;
    lastName: string | null;
    email: string | null;
    avatarUrl: string | null;
    locale: string;
    timezone: string;
    active: boolean;
};
export type NotificationPreferences = {
    push: boolean;
    /** not used so far; login codes are sent in any case */
    sms: boolean;
    /** not used so far */
    email: boolean;
    /** whether to get pushes about favourites; needs `push` too */
    marketing: boolean;
    quietHoursStart: string;
    quietHoursEnd: string;
};
export type DataExport = {
    /** QUEUED: is being made; FAILED: could not be made, ask again later */
    status: "QUEUED" | "READY" | "FAILED";
    /** the file, when it is READY; valid for 15 minutes: read the export again for a new one */
    url: string | null;
    requestedAt: string;
    /** when the file is deleted, or the request is given up */
    expiresAt: string;
};
export type ExportsUsedUpProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#EXPORTS_USED_UP";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "EXPORTS_USED_UP";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type Favorite = {
    /** UUID v7 */
    id: string;
    targetType: "BOX" | "PARTNER";
    /** UUID v7 */
    targetId: string;
};
export type PartnerBlockedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PARTNER_BLOCKED";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "PARTNER_BLOCKED";
    requestId: string;
    partnerStatus: "SUSPENDED" | "REJECTED";
};
export type NotConnectedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOT_CONNECTED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "NOT_CONNECTED";
    requestId: string;
};
export type PosRefusedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#POS_REFUSED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "POS_REFUSED";
    requestId: string;
    /** UUID v7 */
    syncId: string;
};
export type PosMenuTooLargeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#POS_MENU_TOO_LARGE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "POS_MENU_TOO_LARGE";
    requestId: string;
    /** UUID v7 */
    syncId: string;
};
export type PosMenuEmptyProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#POS_MENU_EMPTY";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "POS_MENU_EMPTY";
    requestId: string;
    /** UUID v7 */
    syncId: string;
};
export type PosConnectionReplacedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#POS_CONNECTION_REPLACED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "POS_CONNECTION_REPLACED";
    requestId: string;
    /** UUID v7 */
    syncId: string;
};
export type PosSilentProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#POS_SILENT";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "POS_SILENT";
    requestId: string;
    /** UUID v7 */
    syncId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type SyncAbandonedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#SYNC_ABANDONED";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "SYNC_ABANDONED";
    requestId: string;
    /** UUID v7 */
    syncId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type MenuSync = {
    /** UUID v7 */
    syncId: string;
    status: "QUEUED" | "RUNNING" | "DONE" | "FAILED";
    /** 0 to 1; null while the length of the menu is unknown */
    progress: number | null;
    /** when it will be done if it goes on as it did; null while that cannot be told, and when it has ended */
    estimatedEndAt: string | null;
    itemsSynced: number;
    itemsFailed: number;
    /** items that the POS no longer has */
    itemsArchived: number;
    /** the POS reported an unchanged menu and sent no items */
    unchanged: boolean;
    /** what was wrong with single items; about the first 200 */
    errors: {
        externalId: string | null;
        /** its name in the POS, where it is known */
        name: string | null;
        /** its entry in the POS's menu, counted from 1 */
        position: number | null;
        message: string;
    }[];
    /** why it failed, or what it could not do */
    reason: string | null;
    createdAt: string;
    settledAt: string | null;
};
export type MenuItem = {
    /** UUID v7 */
    id: string;
    name: string;
    category: string;
    /** Major units, at most two decimals */
    price: number;
    archived: boolean;
    available: boolean;
    description: string | null;
    weightGrams: number | null;
    externalId: string | null;
    source: "MANUAL" | "CSV" | "POS";
};
export type MenuFullProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#MENU_FULL";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "MENU_FULL";
    requestId: string;
    maxItems: number;
};
export type StoredFile = {
    /** UUID v7 */
    fileId: string;
    /** permanent and public for an image; for a document valid for 15 minutes: read the file for a new one */
    url: string;
    contentType: string;
    /** bytes at `url` */
    size: number;
    /** at most 400 pixels; images only */
    thumbnailUrl: string | null;
    width: number | null;
    height: number | null;
};
export type UploadPolicy = {
    uploadId: string;
    /** bytes of each part except the last */
    partSize: number;
    /** where to send each part: its bytes as the body, with Content-Length and without a token; keep the `ETag` of the response. A part may be sent again. There may be more addresses than parts */
    parts: {
        partNumber: number;
        url: string;
        method: "PUT";
        /** exactly how many bytes this part has; null where the file may end: `partSize`, or what is left of the file */
        size: number | null;
    }[];
    /** where to POST `{parts: [{partNumber, etag}]}`, with your token, after all parts */
    completeUrl: string;
    /** when the upload expires */
    expiresAt: string;
};
export type OtherContentTypeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OTHER_CONTENT_TYPE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "UNSUPPORTED_MEDIA_TYPE";
    reason: "OTHER_CONTENT_TYPE";
    requestId: string;
    accepted: string[];
};
export type BrokenUploadProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#BROKEN_UPLOAD";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "BROKEN_UPLOAD";
    requestId: string;
};
export type FileMissingProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#FILE_MISSING";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "FILE_MISSING";
    requestId: string;
    errors: FieldError[];
};
export type OtherTypeDeclaredProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OTHER_TYPE_DECLARED";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "UNSUPPORTED_MEDIA_TYPE";
    reason: "OTHER_TYPE_DECLARED";
    requestId: string;
    /** what the file is, by its content */
    contentType: string;
    /** the type that was declared; null when it is no type */
    declared: string | null;
};
export type FileTypeNotAcceptedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#FILE_TYPE_NOT_ACCEPTED";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "UNSUPPORTED_MEDIA_TYPE";
    reason: "FILE_TYPE_NOT_ACCEPTED";
    requestId: string;
};
export type ImageUnreadableProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#IMAGE_UNREADABLE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "UNSUPPORTED_MEDIA_TYPE";
    reason: "IMAGE_UNREADABLE";
    requestId: string;
};
export type TooManyUploadsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_UPLOADS";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "TOO_MANY_UPLOADS";
    requestId: string;
    maxUploads: number;
    maxBytes: number;
};
export type DocumentsFullProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#DOCUMENTS_FULL";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "DOCUMENTS_FULL";
    requestId: string;
};
export type FileTooLargeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#FILE_TOO_LARGE";
    title: "Too large";
    status: 413;
    /** for people; its wording may change */
    detail: string;
    code: "PAYLOAD_TOO_LARGE";
    reason: "FILE_TOO_LARGE";
    requestId: string;
    maxBytes: number;
};
export type StorageUnreachableProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#STORAGE_UNREACHABLE";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "STORAGE_UNREACHABLE";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type OtherTypeBegunProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OTHER_TYPE_BEGUN";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "UNSUPPORTED_MEDIA_TYPE";
    reason: "OTHER_TYPE_BEGUN";
    requestId: string;
    /** what the file is, by its content */
    contentType: string;
    begun: string;
};
export type OwnFile = {
    /** UUID v7 */
    fileId: string;
    /** UPLOADING: can be finished until `expiresAt`; STORED: is being converted; REFUSED: could not be read */
    status: "UPLOADING" | "STORED" | "READY" | "REFUSED";
    createdAt: string;
    /** when an unfinished upload expires */
    expiresAt: string | null;
    /** when it is READY */
    file: StoredFile | null;
};
export type ImageInUseProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#IMAGE_IN_USE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "IMAGE_IN_USE";
    requestId: string;
};
export type FileConvertingProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#FILE_CONVERTING";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "FILE_CONVERTING";
    requestId: string;
};
export type ImportedMenu = {
    /** UUID v7 */
    importId: string;
    /** rows that created an item */
    created: number;
    /** rows of existing items, changed or not */
    updated: number;
    /** rows that were skipped */
    failed: number;
};
export type NotAMenuProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOT_A_MENU";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "NOT_A_MENU";
    requestId: string;
    errors: FieldError[];
};
export type MenuBrokenOffProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#MENU_BROKEN_OFF";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "MENU_BROKEN_OFF";
    requestId: string;
    /** UUID v7 */
    importId: string;
    /** rows that created an item */
    created: number;
    /** rows of existing items, changed or not */
    updated: number;
    /** rows that were skipped */
    failed: number;
    errors: FieldError[];
};
export type MenuPartnerBlockedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#MENU_PARTNER_BLOCKED";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "MENU_PARTNER_BLOCKED";
    requestId: string;
    partnerStatus: "SUSPENDED" | "REJECTED";
};
export type TooManyImportsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_IMPORTS";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "TOO_MANY_IMPORTS";
    requestId: string;
    maxImports: number;
};
export type UploadExpiredProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#UPLOAD_EXPIRED";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "UPLOAD_EXPIRED";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type ImportFailedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#IMPORT_FAILED";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "IMPORT_FAILED";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type MenuImport = {
    /** UUID v7 */
    importId: string;
    /** rows that created an item */
    created: number;
    /** rows of existing items, changed or not */
    updated: number;
    /** rows that were skipped */
    failed: number;
    /** FAILED: it ended before the end of the file; the rows imported before remain */
    status: "QUEUED" | "RUNNING" | "DONE" | "FAILED";
    /** the part of the file that is processed */
    progress: number;
    /** when it will be done if it goes on as it did; null while that cannot be told, and when it has ended */
    estimatedEndAt: string | null;
    /** why rows were skipped, the first of them; preceded by what ended an import that FAILED */
    errors: {
        /** the row's first line; null when the file is not at fault */
        line: number | null;
        /** null when the error is in the row as a whole */
        column: string | null;
        message: string;
    }[];
};
export type StaffMember = {
    /** UUID v7 */
    id: string;
    /** null for an invitation */
    userId: string | null;
    phone: string;
    firstName: string | null;
    lastName: string | null;
    since: string;
};
export type StaffInvitation = {
    /** UUID v7 */
    id: string;
    /** null until the invitation is accepted */
    userId: null;
    phone: string;
};
export type NotTheOwnerProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#NOT_THE_OWNER";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "NOT_THE_OWNER";
    requestId: string;
};
export type StaffFullProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#STAFF_FULL";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "STAFF_FULL";
    requestId: string;
    maxStaff: number;
};
export type OwnInvitation = {
    /** UUID v7 */
    id: string;
    /** UUID v7 */
    partnerId: string;
    partnerName: string;
    since: string;
};
export type AlreadyMemberProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ALREADY_MEMBER";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ALREADY_MEMBER";
    requestId: string;
};
export type Statement = {
    /** UUID v7 */
    id: string;
    /** MONTH: what was booked for a month; EXTRACT: what happened on other days, as it was known at `createdAt` */
    kind: "MONTH" | "EXTRACT";
    /** without gaps among those of its kind */
    "number": number;
    /** UUID v7 */
    partnerId: string;
    partnerName: string;
    /** null: an extract */
    month: string | null;
    /** in the deployment's time zone */
    firstDay: string;
    /** in the deployment's time zone */
    lastDay: string;
    currency: string;
    /** handed over on these days */
    orders: number;
    /** their price, before discounts */
    sales: number;
    /** what customers paid the partner */
    paidAtPickup: number;
    /** by promo codes that hold only at this partner, which pays for them */
    ownDiscounts: number;
    /** by other promo codes: the platform owes them to the partner */
    platformDiscounts: number;
    /** what the partner owes for the orders */
    commission: number;
    /** by how much orders of earlier months, booked too late for theirs, change the balance; 0 on an extract */
    earlier: number;
    /** Major units, at most two decimals */
    corrections: number;
    /** of the platform to the partner are negative: they lower what it owes */
    payments: number;
    /** what the platform owed the partner; negative: the partner owed */
    openingBalance: number;
    /** opening balance + platform discounts − commission + earlier + corrections + payments */
    closingBalance: number;
    createdAt: string;
    /** the document, valid for 15 minutes: read the statement again for a new address; null until it is made, which takes minutes at most */
    pdfUrl: string | null;
};
export type ExtractsUsedUpProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#EXTRACTS_USED_UP";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "EXTRACTS_USED_UP";
    requestId: string;
};
export type StatementLine = {
    id: number;
    /** SALE, CORRECTION or PAYOUT */
    kind: "SALE" | "PROMO" | "COMMISSION" | "CORRECTION" | "PAYOUT";
    /** when the order was handed over, or the money was paid */
    at: string;
    orderId: string | null;
    /** of a payment or correction */
    reference: string | null;
    /** of a correction */
    reason: string | null;
    /** Major units, at most two decimals */
    sales: number;
    /** Major units, at most two decimals */
    paidAtPickup: number;
    /** Major units, at most two decimals */
    ownDiscounts: number;
    /** Major units, at most two decimals */
    platformDiscounts: number;
    /** Major units, at most two decimals */
    commission: number;
    /** by how much it changes what the platform owes */
    balance: number;
};
export type TooManyRegistrationsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_REGISTRATIONS";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "TOO_MANY_REGISTRATIONS";
    requestId: string;
    maxRegistrations: number;
};
export type OpeningHours = {
    /** 1 is Monday */
    day: number;
    opens: string;
    /** 24:00 is the end of the day */
    closes: string | "24:00";
};
export type OwnPartner = {
    /** UUID v7 */
    id: string;
    name: string;
    status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
    slug: string;
    cityId: string;
    address: string;
    latitude: number;
    longitude: number;
    description: string | null;
    openingHours: OpeningHours[];
    phone: string | null;
    email: string | null;
    timezone: string;
    preparationMinutes: number;
};
export type PartnerNotDeclinableProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PARTNER_NOT_DECLINABLE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "PARTNER_NOT_DECLINABLE";
    requestId: string;
};
export type Partner = {
    /** UUID v7 */
    id: string;
    name: string;
    status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
    slug: string;
    cityId: string;
    address: string;
    latitude: number;
    longitude: number;
    description: string | null;
    openingHours: OpeningHours[];
};
export type PartnerMoveNotAllowedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PARTNER_MOVE_NOT_ALLOWED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "PARTNER_MOVE_NOT_ALLOWED";
    requestId: string;
    partnerStatus: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
};
export type OwnerPhoneTakenProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OWNER_PHONE_TAKEN";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "OWNER_PHONE_TAKEN";
    requestId: string;
};
export type OwnerTakenProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OWNER_TAKEN";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "OWNER_TAKEN";
    requestId: string;
};
export type City = {
    /** the platform's key of the city */
    id: string;
    name: string;
    timezone: string;
};
export type SignatureInvalidProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#SIGNATURE_INVALID";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "UNAUTHORIZED";
    reason: "SIGNATURE_INVALID";
    requestId: string;
};
export type PosAdapter = {
    name: string;
    displayName: string;
    /** whether its events are accepted at `POST /pos/webhooks/{name}` */
    webhooks: boolean;
    /** JSON Schema of `credentialsJson` */
    credentialsSchema: {
        [key: string]: unknown;
    };
};
export type InvalidCredentialsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#INVALID_CREDENTIALS";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_CREDENTIALS";
    reason: "INVALID_CREDENTIALS";
    requestId: string;
    errors: FieldError[];
};
export type PosAccountTakenProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#POS_ACCOUNT_TAKEN";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "POS_ACCOUNT_TAKEN";
    requestId: string;
};
export type PosEvent = {
    /** ascending in the order in which events were received */
    id: number;
    /** UUID v7 */
    partnerId: string;
    provider: string;
    account: string;
    /** the provider's id */
    eventId: string;
    kind: string;
    status: "QUEUED" | "PROCESSED" | "PARKED";
    /** failed attempts since it was received or replayed */
    attempts: number;
    /** why the last attempt failed, or which part could not be applied */
    reason: string | null;
    receivedAt: string;
    /** when it was processed, or when it was last parked or failed */
    settledAt: string | null;
};
export type EventNotParkedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#EVENT_NOT_PARKED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "EVENT_NOT_PARKED";
    requestId: string;
};
export type OrderCancelledProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ORDER_CANCELLED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ORDER_CANCELLED";
    requestId: string;
};
export type OrderNotPickedUpProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ORDER_NOT_PICKED_UP";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ORDER_NOT_PICKED_UP";
    requestId: string;
};
export type OwnPartnerProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OWN_PARTNER";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "OWN_PARTNER";
    requestId: string;
};
export type AlreadyReviewedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ALREADY_REVIEWED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ALREADY_REVIEWED";
    requestId: string;
};
export type ReviewModeratedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#REVIEW_MODERATED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "REVIEW_MODERATED";
    requestId: string;
    reviewStatus: "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";
};
export type ShownReview = {
    /** UUID v7 */
    id: string;
    rating: number;
    text: string | null;
    createdAt: string;
};
export type ReviewToModerate = {
    /** UUID v7 */
    id: string;
    rating: number;
    text: string | null;
    createdAt: string;
    /** UUID v7 */
    orderId: string;
    /** UUID v7 */
    partnerId: string;
    status: "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";
    /** changes with every edit */
    revision: number;
};
export type ReviewEditedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#REVIEW_EDITED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "REVIEW_EDITED";
    requestId: string;
};
export type CommissionRate = {
    ratePercent: number;
    /** whether this rate was set here; false when it is inherited */
    "override": boolean;
};
export type CommissionChange = {
    /** UUID v7 */
    id: string;
    /** null for the global rate */
    partnerId: string | null;
    actorId: string | null;
    /** null when none was set */
    oldPercent: number | null;
    /** null when the rate was removed */
    newPercent: number | null;
    at: string;
};
export type PartnerBalance = {
    /** UUID v7 */
    partnerId: string;
    partnerName: string;
    /** more than 0 */
    owed: number;
    currency: string;
    updatedAt: string;
};
export type LedgerEntry = {
    /** the order of booking */
    id: number;
    /** its lines add up to zero */
    transactionId: string;
    /** UUID v7 */
    partnerId: string;
    account: "TILL" | "BALANCE" | "BANK" | "SALES" | "PROMO" | "COMMISSION" | "ADJUSTMENTS";
    kind: "SALE" | "PROMO" | "COMMISSION" | "CORRECTION" | "PAYOUT";
    /** Major units, at most two decimals */
    amount: number;
    /** of the statement that has it */
    month: string;
    /** when it happened */
    at: string;
    bookedAt: string;
    orderId: string | null;
    reference: string | null;
    reason: string | null;
};
export type StatementDraft = {
    /** in the deployment's time zone */
    month: string;
    currency: string;
    /** handed over on these days */
    orders: number;
    /** their price, before discounts */
    sales: number;
    /** what customers paid the partner */
    paidAtPickup: number;
    /** by promo codes that hold only at this partner, which pays for them */
    ownDiscounts: number;
    /** by other promo codes: the platform owes them to the partner */
    platformDiscounts: number;
    /** what the partner owes for the orders */
    commission: number;
    /** by how much orders of earlier months, booked too late for theirs, change the balance; 0 on an extract */
    earlier: number;
    /** Major units, at most two decimals */
    corrections: number;
    /** of the platform to the partner are negative: they lower what it owes */
    payments: number;
    /** what the platform owed the partner; negative: the partner owed */
    openingBalance: number;
    /** opening balance + platform discounts − commission + earlier + corrections + payments */
    closingBalance: number;
};
export type BookedEntry = {
    /** UUID v7 */
    transactionId: string;
    /** what the platform owes the partner now; negative: the partner owes */
    balance: number;
};
export type ReferenceUsedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#REFERENCE_USED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "REFERENCE_USED";
    requestId: string;
};
export type LoyaltyScore = {
    /** UUID v7 */
    userId: string;
    points: number;
    level: "BRONZE" | "SILVER" | "GOLD" | "PLATINUM";
    foodSavedGrams: number;
    ordersCompleted: number;
    /** for inviting other users */
    referralCode: string;
};
export type UnknownCodeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#UNKNOWN_CODE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "UNKNOWN_CODE";
    requestId: string;
};
export type OwnCodeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OWN_CODE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "OWN_CODE";
    requestId: string;
};
export type AlreadyReferredProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ALREADY_REFERRED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ALREADY_REFERRED";
    requestId: string;
};
export type AlreadyCustomerProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ALREADY_CUSTOMER";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "ALREADY_CUSTOMER";
    requestId: string;
};
export type ReferralCycleProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#REFERRAL_CYCLE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "REFERRAL_CYCLE";
    requestId: string;
};
export type Promo = {
    /** UUID v7 */
    id: string;
    code: string;
    active: boolean;
    discountPercent: number | null;
    discountCents: number | null;
    /** Major units, at most two decimals */
    minOrderAmount: number;
    maxDiscountCents: number | null;
    startsAt: string | null;
    endsAt: string | null;
    maxUses: number | null;
    maxUsesPerUser: number;
    partnerId: string | null;
    /** orders that were not cancelled */
    uses: number;
};
export type PromoExistsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PROMO_EXISTS";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "PROMO_EXISTS";
    requestId: string;
};
export type RegisteredDevice = {
    /** UUID v7 */
    id: string;
    platform: "ios" | "android" | "web";
    locale: string;
};
export type InvalidPushTokenProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#INVALID_PUSH_TOKEN";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_PUSH_TOKEN";
    reason: "INVALID_PUSH_TOKEN";
    requestId: string;
    platform: "ios" | "android" | "web";
};
export type Device = {
    /** UUID v7 */
    id: string;
    platform: "ios" | "android" | "web";
    locale: string;
    createdAt: string;
};
export type NotificationKind = "ORDER_ACCEPTED" | "ORDER_READY" | "ORDER_CANCELLED" | "ORDER_NO_SHOW" | "PICKUP_SOON" | "POINTS_EARNED" | "FRIEND_CAME" | "LEVEL_REACHED" | "REVIEW_APPROVED" | "REVIEW_REJECTED" | "DATA_EXPORT_READY" | "FAVORITE_LISTED" | "BOX_BACK" | "BOX_CHEAPER" | "NEW_ORDER" | "ORDER_CANCELLED_BY_CUSTOMER" | "REVIEW_RECEIVED" | "PARTNER_OWNED" | "PARTNER_APPROVED" | "PARTNER_REJECTED" | "PARTNER_SUSPENDED" | "WEBHOOK_STOPPED" | "WEBHOOK_BACK" | "PLATFORM_WEBHOOK_STOPPED" | "PLATFORM_WEBHOOK_BACK" | "STATEMENT_READY" | "CAMPAIGN_COMPLETED";
export type Notification = {
    /** UUID v7 */
    id: string;
    /** what happened; an app shows other kinds, of another release, by `title` and `body` alone */
    kind: NotificationKind | string;
    /** in the user's language */
    title: string;
    body: string;
    /** its progress to the user's devices: DEFERRED waits for the end of quiet hours or for a push service; DROPPED was not sent because the user has no device or does not want it, or because it was too late */
    status: "QUEUED" | "DEFERRED" | "SENT" | "FAILED" | "DROPPED";
    orderId: string | null;
    partnerId: string | null;
    boxId: string | null;
    createdAt: string;
    /** null until it is read */
    readAt: string | null;
};
export type Delivery = {
    /** UUID v7 */
    deviceId: string;
    platform: "ios" | "android" | "web";
    /** UNKNOWN: the push service may have it, so it is not sent again; LATER: it was not accepted and is tried again; GONE: the device can no longer be reached and was deleted */
    status: "SENDING" | "SENT" | "UNKNOWN" | "LATER" | "GONE" | "FAILED";
    reason: string | null;
    attempts: number;
    startedAt: string;
    endedAt: string | null;
};
export type SupportNotification = {
    /** UUID v7 */
    id: string;
    /** what happened; an app shows other kinds, of another release, by `title` and `body` alone */
    kind: NotificationKind | string;
    /** its progress to the user's devices: DEFERRED waits for the end of quiet hours or for a push service; DROPPED was not sent because the user has no device or does not want it, or because it was too late */
    status: "QUEUED" | "DEFERRED" | "SENT" | "FAILED" | "DROPPED";
    /** why it was not sent, or what it waits for */
    reason: string | null;
    orderId: string | null;
    partnerId: string | null;
    boxId: string | null;
    createdAt: string;
    /** null: the default of its kind */
    expiresAt: string | null;
    settledAt: string | null;
    readAt: string | null;
    deliveries: Delivery[];
};
export type TooManyCodesProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_CODES";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "TOO_MANY_CODES";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type Tokens = {
    /** JWT */
    accessToken: string;
    /** opaque; valid for one exchange within 30 days */
    refreshToken: string;
    tokenType: "Bearer";
    /** lifetime of the access token in seconds */
    expiresIn: number;
};
export type InvalidCodeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#INVALID_CODE";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_CODE";
    reason: "INVALID_CODE";
    requestId: string;
};
export type ExpiredCodeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#EXPIRED_CODE";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "EXPIRED_CODE";
    reason: "EXPIRED_CODE";
    requestId: string;
};
export type TooManyGuessesProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_GUESSES";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "TOO_MANY_GUESSES";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type InvalidRefreshTokenProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#INVALID_REFRESH_TOKEN";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_REFRESH_TOKEN";
    reason: "INVALID_REFRESH_TOKEN";
    requestId: string;
};
export type InvalidTokenProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#INVALID_TOKEN";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "INVALID_TOKEN";
    reason: "INVALID_TOKEN";
    requestId: string;
};
export type Campaign = {
    /** UUID v7 */
    id: string;
    name: string;
    placements: string[];
    /** Major units, at most two decimals */
    budget: number;
    cpm: number | null;
    status: "DRAFT" | "ACTIVE" | "PAUSED" | "COMPLETED";
    startsAt: string | null;
    endsAt: string | null;
    /** how often one of its banners was in a response */
    impressions: number;
    clicks: number;
    /** of the budget, in major units, rounded down to two decimals */
    spent: number;
    createdAt: string;
};
export type CampaignCompletedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#CAMPAIGN_COMPLETED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "CAMPAIGN_COMPLETED";
    requestId: string;
};
export type BudgetSpentProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#BUDGET_SPENT";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "BUDGET_SPENT";
    requestId: string;
};
export type PlacementInUseProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#PLACEMENT_IN_USE";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "PLACEMENT_IN_USE";
    requestId: string;
    placements: string[];
};
export type CampaignEndedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#CAMPAIGN_ENDED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "CAMPAIGN_ENDED";
    requestId: string;
};
export type CampaignMoveNotAllowedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#CAMPAIGN_MOVE_NOT_ALLOWED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "CAMPAIGN_MOVE_NOT_ALLOWED";
    requestId: string;
    campaignStatus: "DRAFT" | "ACTIVE" | "PAUSED" | "COMPLETED";
};
export type CampaignBanner = {
    /** UUID v7 */
    id: string;
    /** UUID v7 */
    campaignId: string;
    imageUrl: string;
    link: string;
    placement: string;
    locale: string | null;
    cityId: string | null;
    startsAt: string;
    endsAt: string;
    weight: number;
    /** how often it was in a response */
    impressions: number;
    clicks: number;
};
export type CampaignDay = {
    day: string;
    impressions: number;
    clicks: number;
    /** in major units, rounded down to two decimals */
    spent: number;
    /** beyond what one user or address may cause; they cost nothing */
    invalidImpressions: number;
    invalidClicks: number;
};
export type OrderPlacedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "order.placed";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        orderId: string;
        /** minor units */
        amountDueCents: number;
        /** minor units */
        commissionCents: number;
        /** by a POS */
        takenElsewhere: boolean;
    };
};
export type OrderReadyEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "order.ready";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type OrderCompletedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "order.completed";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type OrderCancelledEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "order.cancelled";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type OrderNoShowEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "order.no_show";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type BoxListedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "box.listed";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxChangedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "box.changed";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxSoldOutEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "box.sold_out";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxBackEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "box.back";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxExpiredEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "box.expired";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type MenuItemCreatedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "menu_item.created";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        menuItemId: string;
        /** minor units */
        priceCents: number;
        available: boolean;
    };
};
export type MenuItemChangedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "menu_item.changed";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        menuItemId: string;
        /** minor units */
        priceCents: number;
        available: boolean;
    };
};
export type MenuItemArchivedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "menu_item.archived";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        menuItemId: string;
        /** minor units */
        priceCents: number;
        available: boolean;
    };
};
export type MenuImportFinishedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "menu_import.finished";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        importId: string;
        status: "DONE" | "FAILED";
        rowsCreated: number;
        rowsUpdated: number;
        rowsFailed: number;
    };
};
export type PosSyncFinishedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "pos_sync.finished";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        syncId: string;
        status: "DONE" | "FAILED";
        failure: ("REFUSED" | "UNAVAILABLE" | "TOO_LARGE" | "REPLACED" | "ABANDONED" | "EMPTY") | null;
        itemsSynced: number;
        itemsFailed: number;
        itemsArchived: number;
    };
};
export type PartnerRegisteredEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "partner.registered";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type PartnerApprovedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "partner.approved";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type PartnerRejectedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "partner.rejected";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type PartnerSuspendedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "partner.suspended";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type ReviewPublishedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "review.published";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        reviewId: string;
        /** UUID v7 */
        orderId: string;
        rating: number;
    };
};
export type ReviewModeratedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "review.moderated";
    version: 1;
    /** UUID v7 */
    partnerId: string;
    at: string;
    data: {
        /** UUID v7 */
        reviewId: string;
        /** UUID v7 */
        orderId: string;
        rating: number;
        status: "APPROVED" | "REJECTED";
    };
};
export type PointsEarnedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "points.earned";
    version: 1;
    partnerId: null;
    at: string;
    data: {
        /** UUID v7 */
        userId: string;
        points: number;
        /** null for a welcome by referral */
        orderId: string | null;
    };
};
export type CampaignCompletedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "campaign.completed";
    version: 1;
    partnerId: null;
    at: string;
    data: {
        /** UUID v7 */
        campaignId: string;
    };
};
export type FileReadyEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "file.ready";
    version: 1;
    partnerId: null;
    at: string;
    data: {
        /** UUID v7 */
        fileId: string;
        /** UUID v7 */
        userId: string;
        contentType: string;
    };
};
export type AccountDeletedEvent = {
    /** its place in the log; later events have higher ones */
    position: number;
    /** the same however often the event is read or sent */
    id: string;
    "type": "account.deleted";
    version: 1;
    partnerId: null;
    at: string;
    data: {
        /** UUID v7 */
        userId: string;
    };
};
export type EventPage = {
    events: (OrderPlacedEvent | OrderReadyEvent | OrderCompletedEvent | OrderCancelledEvent | OrderNoShowEvent | BoxListedEvent | BoxChangedEvent | BoxSoldOutEvent | BoxBackEvent | BoxExpiredEvent | MenuItemCreatedEvent | MenuItemChangedEvent | MenuItemArchivedEvent | MenuImportFinishedEvent | PosSyncFinishedEvent | PartnerRegisteredEvent | PartnerApprovedEvent | PartnerRejectedEvent | PartnerSuspendedEvent | ReviewPublishedEvent | ReviewModeratedEvent | PointsEarnedEvent | CampaignCompletedEvent | FileReadyEvent | AccountDeletedEvent)[];
    /** the `after` of the next request */
    after: number;
    /** whether there may be more already: then ask again at once */
    more: boolean;
};
export type EventsGoneProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#EVENTS_GONE";
    title: "Gone";
    status: 410;
    /** for people; its wording may change */
    detail: string;
    code: "NOT_FOUND";
    reason: "EVENTS_GONE";
    requestId: string;
};
export type TooManyWaitsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_WAITS";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "TOO_MANY_WAITS";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type NewWebhookEndpoint = {
    /** UUID v7 */
    id: string;
    url: string;
    description: string | null;
    types: string[] | null;
    enabled: boolean;
    /** GONE: it answered 410. FAILING: it failed for a day. BY_OPERATOR: only an operator starts it; until then a partner adds no endpoint, changes no address, and does not delete this one. Null while it is enabled */
    stoppedWhy: ("BY_OWNER" | "BY_OPERATOR" | "GONE" | "FAILING") | null;
    /** since its last success */
    failingSince: string | null;
    /** after a failure it is left alone for a while */
    pausedUntil: string | null;
    createdAt: string;
    /** shown only now; verifies the header `webhook-signature` (Standard Webhooks) */
    secret: string;
};
export type TooManyWebhookEndpointsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_WEBHOOK_ENDPOINTS";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "TOO_MANY_WEBHOOK_ENDPOINTS";
    requestId: string;
    most: number;
};
export type WebhookEndpointStoppedByOperatorProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#WEBHOOK_ENDPOINT_STOPPED_BY_OPERATOR";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "WEBHOOK_ENDPOINT_STOPPED_BY_OPERATOR";
    requestId: string;
};
export type WebhookEndpoint = {
    /** UUID v7 */
    id: string;
    url: string;
    description: string | null;
    types: string[] | null;
    enabled: boolean;
    /** GONE: it answered 410. FAILING: it failed for a day. BY_OPERATOR: only an operator starts it; until then a partner adds no endpoint, changes no address, and does not delete this one. Null while it is enabled */
    stoppedWhy: ("BY_OWNER" | "BY_OPERATOR" | "GONE" | "FAILING") | null;
    /** since its last success */
    failingSince: string | null;
    /** after a failure it is left alone for a while */
    pausedUntil: string | null;
    createdAt: string;
};
export type WebhookDelivery = {
    /** of the event in the log */
    position: number;
    /** `webhook-id` */
    eventId: string;
    "type": string;
    status: "PENDING" | "SENT" | "FAILED";
    attempts: number;
    /** the status of the last answer; null without one */
    answered: number | null;
    /** how the last answer begins, or why there was none */
    answer: string | null;
    ms: number | null;
    attemptedAt: string | null;
    /** null: it is settled */
    nextAttemptAt: string | null;
};
export type WebhookEndpointStoppedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#WEBHOOK_ENDPOINT_STOPPED";
    title: "Conflict";
    status: 409;
    /** for people; its wording may change */
    detail: string;
    code: "CONFLICT";
    reason: "WEBHOOK_ENDPOINT_STOPPED";
    requestId: string;
};
export type ResentWebhooks = {
    /** how many are sent again */
    events: number;
    /** the position of the last of them */
    after: number | null;
    /** whether there may be more */
    more: boolean;
};
export type WebhookTest = {
    /** whether the answer was 2xx */
    accepted: boolean;
    /** the status of the answer; null without one */
    answered: number | null;
    /** how the answer begins, or why there was none */
    answer: string;
    ms: number;
};
export type VendorCalls = {
    vendor: string;
    /** in the last five minutes */
    calls: number;
    /** those without an answer, or that the vendor could not carry out now */
    failed: number;
};
export type Vendor = {
    vendor: string;
    /** in the last five minutes */
    calls: number;
    /** those without an answer, or that the vendor could not carry out now */
    failed: number;
    /** when a call last succeeded; null: not in 30 days */
    succeededAt: string | null;
    /** when a call last failed; null: not in 30 days */
    failedAt: string | null;
};
export type Overview = {
    queues: {
        queue: string;
        /** of the hundred thousand that are due first */
        due: number;
        waiting: number;
        oldestDueSeconds: number;
        /** over five minutes */
        stagedPerMinute: number;
        donePerMinute: number;
        dead: number;
        /** null when it is not paused */
        pausedAt: string | null;
        pausedWhy: string | null;
        /** jobs that a process runs at once; null: as configured */
        concurrency: number | null;
        /** jobs that all processes together start a minute; null: no limit */
        perMinute: number | null;
    }[];
    /** received and not applied yet; at most 10,000 */
    queuedPosEvents: number;
    /** since the first of those that are due was */
    posEventsDueSeconds: number;
    /** at most 10,000 */
    parkedPosEvents: number;
    partnersWithParkedEvents: number;
    rollupDaysDue: number;
    /** since a worker last ran the canary, every 30 seconds; null when none ever did */
    canaryAgeSeconds: number | null;
    /** of the last ten minutes; one that stops leaves the list */
    processes: {
        /** host, process id and a random part */
        id: string;
        role: "API" | "WORKER";
        version: string;
        startedAt: string;
        /** since its last beat, every 15 seconds */
        silentSeconds: number;
        alive: boolean;
        /** that ran at the last beat */
        statements: number;
        transactions: number;
        /** transactions that waited for a connection */
        waiting: number;
        replicas: {
            name: string;
            lagSeconds: number;
        }[];
        vendors: VendorCalls[];
        paused: {
            queue: string;
            origin: string;
            /** of the first pause; it has not answered since */
            since: string;
            /** when it is called again, by one call at a time until it answers */
            until: string;
        }[];
    }[];
    /** of all processes; those that were called in 30 days */
    vendors: Vendor[];
    /** third parties that processes do not call for a while, as they did not answer */
    paused: {
        queue: string;
        origin: string;
        /** of the first pause; it has not answered since */
        since: string;
        /** when it is called again, by one call at a time until it answers */
        until: string;
        processes: number;
    }[];
    upkeep: {
        task: "canary" | "expire-boxes" | "repeat-boxes" | "complete-campaigns" | "bulk-actions" | "purge-staged-jobs" | "erase-expired-codes" | "purge-logins" | "no-shows" | "purge-idempotency-keys" | "settle-menu-imports" | "purge-menu-imports" | "erase-accounts" | "erase-counter-addresses" | "purge-registrations" | "purge-notifications" | "purge-geocodes" | "clear-away-files" | "sync-menus" | "abandon-dead-syncs" | "reschedule-stalled-inboxes" | "purge-pos-events" | "purge-rate-counters" | "purge-ad-batches" | "queue-figures" | "drop-old-events" | "purge-webhooks" | "book-ledger" | "make-statements";
        /** of the last run; null when there was none */
        startedAt: string | null;
        ms: number | null;
        /** rows, where the task counts them */
        changed: number | null;
        error: string | null;
    }[];
    database: {
        connections: number;
        maxConnections: number;
        bytes: number;
    };
};
export type OperatorsOnlyProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OPERATORS_ONLY";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "OPERATORS_ONLY";
    requestId: string;
};
export type QueueMinute = {
    minute: string;
    queue: string;
    staged: number;
    done: number;
    /** of the oldest due job, at the end of the minute; null when the minute was recorded later */
    oldestDueSeconds: number | null;
};
export type QueueSettings = {
    queue: "ad-events" | "address-checks" | "data-export" | "fan-out" | "geocode" | "images" | "menu-import" | "pos-events" | "pos-sync" | "push" | "rollups" | "sms" | "statements" | "upkeep" | "webhooks";
    /** null when it is not paused */
    pausedAt: string | null;
    pausedWhy: string | null;
    /** jobs that a process runs at once; null: as configured */
    concurrency: number | null;
    /** jobs that all processes together start a minute; null: no limit */
    perMinute: number | null;
};
export type Found = {
    kind: "ORDER" | "NOTIFICATION" | "PARTNER" | "USER" | "BOX" | "FILE" | "MENU_IMPORT" | "POS_SYNC" | "POS_EVENT" | "JOB";
    id: string;
    state: string;
    at: string;
};
export type InspectedOrder = {
    /** UUID v7 */
    id: string;
    /** UUID v7 */
    partnerId: string;
    userId: string | null;
    status: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
    /** of its customer, masked */
    phone: string | null;
    /** masked */
    address: string | null;
    createdAt: string;
    noShowAt: string;
};
export type InspectedNotification = {
    /** UUID v7 */
    id: string;
    /** UUID v7 */
    userId: string;
    orderId: string | null;
    kind: string;
    status: "QUEUED" | "DEFERRED" | "SENT" | "FAILED" | "DROPPED";
    reason: string | null;
    /** why it was sent, is not sent yet or never will be */
    why: string;
    createdAt: string;
    settledAt: string | null;
    readAt: string | null;
    deliveries: {
        /** UUID v7 */
        deviceId: string;
        platform: "ios" | "android" | "web";
        status: "SENDING" | "SENT" | "UNKNOWN" | "LATER" | "GONE" | "FAILED";
        reason: string | null;
        attempts: number;
        startedAt: string;
        endedAt: string | null;
    }[];
};
export type Job = {
    /** ascending in the order in which jobs were staged */
    id: number;
    queue: string;
    /** DEAD: given up; DUE: to be run now, or running; WAITING: for its time; DONE: kept for a day */
    state: "DEAD" | "DUE" | "WAITING" | "DONE";
    /** ids and small facts */
    payload: {
        [key: string]: string | number | boolean | null;
    };
    /** the request that caused it */
    requestId: string | null;
    attempts: number;
    lastError: string | null;
    stagedAt: string;
    runAt: string;
    doneAt: string | null;
    deadAt: string | null;
};
export type TimelineEntry = {
    at: string;
    what: string;
    jobId: number | null;
};
export type BulkAction = {
    /** UUID v7 */
    id: string;
    /** of dead jobs: REPLAY gives all attempts again, DISMISS ends them without their effect. Of open ones: RUN makes them due now, SNOOZE due at `until`, CANCEL ends them without their effect; one that is running may still have it */
    kind: "REPLAY" | "DISMISS" | "RUN" | "SNOOZE" | "CANCEL";
    /** which jobs are meant: DEAD ones are replayed or dismissed, DUE and WAITING ones run, snoozed or cancelled; PARKED: POS events, which are replayed or dismissed */
    state: "DEAD" | "DUE" | "WAITING" | "PARKED";
    queue: string | null;
    error: string | null;
    stagedFrom: string | null;
    stagedBefore: string | null;
    minAttempts: number | null;
    argument: string | null;
    /** whose parked events are meant; null: of any partner */
    partnerId: string | null;
    until: string | null;
    why: string;
    /** how many jobs or events matched when it was asked for */
    matched: number;
    /** how many have been changed so far */
    changed: number;
    /** the part that is done */
    progress: number;
    /** when it will be done if it goes on as it did; null while that cannot be told, and when it has ended */
    estimatedEndAt: string | null;
    createdAt: string;
    /** null while it goes on */
    settledAt: string | null;
    /** null when no operator has stopped it */
    stoppedWhy: string | null;
};
export type WrongDaysProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#WRONG_DAYS";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "VALIDATION_ERROR";
    reason: "WRONG_DAYS";
    requestId: string;
};
export type JobOwner = {
    /** one of the three is not null */
    partnerId: string | null;
    /** its name */
    partner: string | null;
    userId: string | null;
    endpointId: string | null;
    jobs: number;
    /** of the one that is due first */
    dueSince: string;
};
export type PartnerEvents = {
    /** UUID v7 */
    partnerId: string;
    partner: string;
    queued: number;
    parked: number;
    /** when the first of them came in */
    oldestAt: string;
};
export type WatchedEndpoint = {
    /** UUID v7 */
    id: string;
    /** null: the platform's */
    partnerId: string | null;
    partner: string | null;
    /** the rest of the address may be secret */
    host: string;
    /** null: all */
    types: string[] | null;
    stoppedAt: string | null;
    stoppedWhy: ("BY_OWNER" | "BY_OPERATOR" | "GONE" | "FAILING") | null;
    /** in a row */
    failures: number;
    failingSince: string | null;
    pausedUntil: string | null;
    /** deliveries that have no success yet, at most 1,000 */
    pending: number;
    /** when the oldest event happened that is still to be sent; null: it has all */
    oldestAt: string | null;
};
export type ResentByOperator = {
    events: number;
    after: number | null;
    more: boolean;
};
export type OrderPlacedWebhook = {
    "type": "order.placed";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        orderId: string;
        /** minor units */
        amountDueCents: number;
        /** minor units */
        commissionCents: number;
        /** by a POS */
        takenElsewhere: boolean;
    };
};
export type OrderReadyWebhook = {
    "type": "order.ready";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type OrderCompletedWebhook = {
    "type": "order.completed";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type OrderCancelledWebhook = {
    "type": "order.cancelled";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type OrderNoShowWebhook = {
    "type": "order.no_show";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        orderId: string;
        "from": "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        by: "CUSTOMER" | "PARTNER" | "SERVICE";
    };
};
export type BoxListedWebhook = {
    "type": "box.listed";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxChangedWebhook = {
    "type": "box.changed";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxSoldOutWebhook = {
    "type": "box.sold_out";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxBackWebhook = {
    "type": "box.back";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type BoxExpiredWebhook = {
    "type": "box.expired";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        boxId: string;
        quantityAvailable: number;
        /** minor units */
        priceCents: number;
        pickupWindowStart: string;
        pickupWindowEnd: string;
        /** also when it is deleted */
        hidden: boolean;
    };
};
export type MenuItemCreatedWebhook = {
    "type": "menu_item.created";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        menuItemId: string;
        /** minor units */
        priceCents: number;
        available: boolean;
    };
};
export type MenuItemChangedWebhook = {
    "type": "menu_item.changed";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        menuItemId: string;
        /** minor units */
        priceCents: number;
        available: boolean;
    };
};
export type MenuItemArchivedWebhook = {
    "type": "menu_item.archived";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        menuItemId: string;
        /** minor units */
        priceCents: number;
        available: boolean;
    };
};
export type MenuImportFinishedWebhook = {
    "type": "menu_import.finished";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        importId: string;
        status: "DONE" | "FAILED";
        rowsCreated: number;
        rowsUpdated: number;
        rowsFailed: number;
    };
};
export type PosSyncFinishedWebhook = {
    "type": "pos_sync.finished";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        syncId: string;
        status: "DONE" | "FAILED";
        failure: ("REFUSED" | "UNAVAILABLE" | "TOO_LARGE" | "REPLACED" | "ABANDONED" | "EMPTY") | null;
        itemsSynced: number;
        itemsFailed: number;
        itemsArchived: number;
    };
};
export type PartnerRegisteredWebhook = {
    "type": "partner.registered";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type PartnerApprovedWebhook = {
    "type": "partner.approved";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type PartnerRejectedWebhook = {
    "type": "partner.rejected";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type PartnerSuspendedWebhook = {
    "type": "partner.suspended";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        /** null when it is new */
        "from": ("PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") | null;
    };
};
export type ReviewPublishedWebhook = {
    "type": "review.published";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        reviewId: string;
        /** UUID v7 */
        orderId: string;
        rating: number;
    };
};
export type ReviewModeratedWebhook = {
    "type": "review.moderated";
    timestamp: string;
    version: 1;
    position: number;
    /** UUID v7 */
    partnerId: string;
    data: {
        /** UUID v7 */
        reviewId: string;
        /** UUID v7 */
        orderId: string;
        rating: number;
        status: "APPROVED" | "REJECTED";
    };
};
export type PointsEarnedWebhook = {
    "type": "points.earned";
    timestamp: string;
    version: 1;
    position: number;
    partnerId: null;
    data: {
        /** UUID v7 */
        userId: string;
        points: number;
        /** null for a welcome by referral */
        orderId: string | null;
    };
};
export type CampaignCompletedWebhook = {
    "type": "campaign.completed";
    timestamp: string;
    version: 1;
    position: number;
    partnerId: null;
    data: {
        /** UUID v7 */
        campaignId: string;
    };
};
export type FileReadyWebhook = {
    "type": "file.ready";
    timestamp: string;
    version: 1;
    position: number;
    partnerId: null;
    data: {
        /** UUID v7 */
        fileId: string;
        /** UUID v7 */
        userId: string;
        contentType: string;
    };
};
export type AccountDeletedWebhook = {
    "type": "account.deleted";
    timestamp: string;
    version: 1;
    position: number;
    partnerId: null;
    data: {
        /** UUID v7 */
        userId: string;
    };
};
export type PingWebhook = {
    "type": "ping";
    timestamp: string;
    version: 1;
    position: number;
    partnerId: null;
    data: {
        /** UUID v7 */
        endpointId: string;
    };
};
export type TooManyStreamsProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#TOO_MANY_STREAMS";
    title: "Too many requests";
    status: 429;
    /** for people; its wording may change */
    detail: string;
    code: "RATE_LIMIT";
    reason: "TOO_MANY_STREAMS";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type StreamsFullProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#STREAMS_FULL";
    title: "Unavailable";
    status: 503;
    /** for people; its wording may change */
    detail: string;
    code: "UNAVAILABLE";
    reason: "STREAMS_FULL";
    requestId: string;
    /** as in the header `Retry-After` */
    retryAfterSeconds: number;
};
export type ActionRefusedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ACTION_REFUSED";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "ACTION_REFUSED";
    requestId: string;
    error: {
        key: string;
    };
    message: string;
};
export type AddressExpiredProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#ADDRESS_EXPIRED";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "ADDRESS_EXPIRED";
    requestId: string;
};
export type HeadersTooLargeProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#HEADERS_TOO_LARGE";
    title: "Request header fields too large";
    status: 431;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "HEADERS_TOO_LARGE";
    requestId: string;
};
export type LengthMissingProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#LENGTH_MISSING";
    title: "Bad request";
    status: 400;
    /** for people; its wording may change */
    detail: string;
    code: "BAD_REQUEST";
    reason: "LENGTH_MISSING";
    requestId: string;
};
export type MethodNotAllowedProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#METHOD_NOT_ALLOWED";
    title: "Method not allowed";
    status: 405;
    /** for people; its wording may change */
    detail: string;
    code: "METHOD_NOT_ALLOWED";
    reason: "METHOD_NOT_ALLOWED";
    requestId: string;
    allowed: string[];
};
export type MetricsTokenMissingProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#METRICS_TOKEN_MISSING";
    title: "Not authenticated";
    status: 401;
    /** for people; its wording may change */
    detail: string;
    code: "UNAUTHORIZED";
    reason: "METRICS_TOKEN_MISSING";
    requestId: string;
};
export type OtherLengthProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OTHER_LENGTH";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "OTHER_LENGTH";
    requestId: string;
    size: number;
};
export type OtherOriginProblem = {
    /** explains the reason, below the API's address */
    "type": "/docs/errors#OTHER_ORIGIN";
    title: "Not allowed";
    status: 403;
    /** for people; its wording may change */
    detail: string;
    code: "FORBIDDEN";
    reason: "OTHER_ORIGIN";
    requestId: string;
};
export type Problem = ActionRefusedProblem | AddressExpiredProblem | AdminsOnlyProblem | AlreadyCustomerProblem | AlreadyMemberProblem | AlreadyReferredProblem | AlreadyReviewedProblem | BodyTooLargeProblem | BoxExpiredProblem | BoxHasOrdersProblem | BrokenUploadProblem | BudgetSpentProblem | CampaignCompletedProblem | CampaignEndedProblem | CampaignMoveNotAllowedProblem | CustomerLimitProblem | DatabaseContendedProblem | DatabaseOverloadedProblem | DatabaseTooSlowProblem | DatabaseUnreachableProblem | DocumentsFullProblem | DuplicateProblem | EventNotParkedProblem | EventsGoneProblem | ExpiredCodeProblem | ExportsUsedUpProblem | ExtractsUsedUpProblem | FileConvertingProblem | FileMissingProblem | FileTooLargeProblem | FileTypeNotAcceptedProblem | GeocoderBusyProblem | GeocoderSilentProblem | HeadersTooLargeProblem | ImageInUseProblem | ImageNotReadyProblem | ImageUnreadableProblem | ImportFailedProblem | InternalProblem | InvalidCodeProblem | InvalidCredentialsProblem | InvalidInputProblem | InvalidPushTokenProblem | InvalidRefreshTokenProblem | InvalidTokenProblem | KeyReusedProblem | KeyScopeMissingProblem | KeyUnknownProblem | LengthMissingProblem | MalformedInputProblem | MenuBrokenOffProblem | MenuFullProblem | MenuPartnerBlockedProblem | MethodNotAllowedProblem | MetricsTokenMissingProblem | NoPartnerProblem | NotAMenuProblem | NotConnectedProblem | NotEnoughProblem | NotFoundProblem | NotJsonProblem | NotSentAsJsonProblem | NotTheOwnerProblem | NothingToRepeatProblem | OperatorsOnlyProblem | OrderCancelledProblem | OrderMoveNotAllowedProblem | OrderNotDeclinableProblem | OrderNotPickedUpProblem | OtherContentTypeProblem | OtherLengthProblem | OtherOriginProblem | OtherTypeBegunProblem | OtherTypeDeclaredProblem | OutOfRangeProblem | OverloadedProblem | OwnCodeProblem | OwnPartnerProblem | OwnerPhoneTakenProblem | OwnerTakenProblem | PartnerBlockedProblem | PartnerInactiveProblem | PartnerMoveNotAllowedProblem | PartnerNotActiveProblem | PartnerNotDeclinableProblem | PartnersOnlyProblem | PlacementInUseProblem | PosAccountTakenProblem | PosConnectionReplacedProblem | PosMenuEmptyProblem | PosMenuTooLargeProblem | PosRefusedProblem | PosSilentProblem | PromoEndedProblem | PromoExistsProblem | PromoMinimumNotMetProblem | PromoNotStartedProblem | PromoOtherPartnerProblem | PromoUnknownProblem | PromoUsedByYouProblem | PromoUsedUpProblem | ReferenceUsedProblem | ReferralCycleProblem | RequestTooSlowProblem | ReviewEditedProblem | ReviewModeratedProblem | SessionEndedProblem | SignatureInvalidProblem | StaffFullProblem | StorageUnreachableProblem | StreamsFullProblem | SyncAbandonedProblem | TokenExpiredProblem | TokenInvalidProblem | TokenMissingProblem | TooLateToCancelProblem | TooManyCodesProblem | TooManyGuessesProblem | TooManyImportsProblem | TooManyOpenProblem | TooManyRegistrationsProblem | TooManyRequestsProblem | TooManyStreamsProblem | TooManyUnknownPromosProblem | TooManyUploadsProblem | TooManyWaitsProblem | TooManyWebhookEndpointsProblem | UnknownCodeProblem | UnknownItemsProblem | UnreadableProblem | UploadExpiredProblem | WebhookEndpointStoppedProblem | WebhookEndpointStoppedByOperatorProblem | WindowClosedProblem | WindowJustClosedProblem | WrongDaysProblem | WrongPickupCodeProblem | WrongTotalProblem;
/**
 * List the boxes on offer
 */
export function listOffers({ limit, cursor, lat, lng, radius, cityId, maxPrice, availableFrom, availableTo }: {
    limit?: number;
    cursor?: string;
    lat?: number;
    lng?: number;
    radius?: number;
    cityId?: string;
    maxPrice?: number;
    availableFrom?: string;
    availableTo?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Offer[];
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes${QS.query(QS.explode({
        limit,
        cursor,
        lat,
        lng,
        radius,
        cityId,
        maxPrice,
        availableFrom,
        availableTo
    }))}`, {
        ...opts
    });
}
/**
 * List a box
 */
export function createBox({ body }: {
    body: {
        title: string;
        description?: string;
        /** Major units, at most two decimals */
        price: number;
        /** the price before the discount; not below `price` */
        originalPrice?: number;
        quantity: number;
        weightGrams?: number;
        /** how many one customer may have, in all orders that are open or collected; without it, any number */
        maxPerCustomer?: number;
        /** ISO 8601 with an offset */
        pickupWindowStart: string;
        /** after the start, in the future, at most 48 hours after the start */
        pickupWindowEnd: string;
        items?: {
            /** UUID v7 */
            menuItemId: string;
            qty: number;
        }[];
        /** lists the box again on these days through `until`, a day ahead, at the same local time */
        repeat?: {
            /** days of the week, 1 is Monday */
            days: number[];
            until: string;
        };
        /** an image that the caller uploaded */
        imageFileId?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** UUID v7 */
            id: string;
            title: string;
            quantityAvailable: number;
            status: "ACTIVE" | "SOLD_OUT" | "EXPIRED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | PartnerNotActiveProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: ImageNotReadyProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/boxes", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List a partner's boxes, newest first
 */
export function listPartnerBoxes({ partnerId, limit, cursor, all }: {
    partnerId: string;
    limit?: number;
    cursor?: string;
    all?: "0" | "1" | "true" | "false";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PartnerBox[];
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/by-partner/${encodeURIComponent(partnerId)}${QS.query(QS.explode({
        limit,
        cursor,
        all
    }))}`, {
        ...opts
    });
}
/**
 * Read a box
 */
export function readBox({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Box;
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Change a box
 */
export function changeBox({ id, body }: {
    id: string;
    body: {
        title?: string;
        description?: string | null;
        /** Major units, at most two decimals */
        price?: number;
        originalPrice?: number | null;
        /** how many are offered in all, including those sold */
        quantity?: number;
        weightGrams?: number | null;
        maxPerCustomer?: number | null;
        /** ISO 8601 with an offset */
        pickupWindowStart?: string;
        /** after the start, in the future, at most 48 hours after the start */
        pickupWindowEnd?: string;
        /** replaces the contents */
        items?: {
            /** UUID v7 */
            menuItemId: string;
            qty: number;
        }[];
        repeat?: {
            /** days of the week, 1 is Monday */
            days: number[];
            until: string;
        } | null;
        imageFileId?: string | null;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            title: string;
            quantityAvailable: number;
            status: "ACTIVE" | "SOLD_OUT" | "EXPIRED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | PartnerNotActiveProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: BoxExpiredProblem | ImageNotReadyProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Delete a box
 */
export function deleteBox({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: BoxHasOrdersProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Set how many of a box are available
 */
export function setBoxQuantity({ id, body }: {
    id: string;
    body: {
        quantityAvailable?: number;
        /** synonym of `quantityAvailable` */
        quantity?: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            quantityAvailable: number;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | PartnerNotActiveProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: BoxExpiredProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/${encodeURIComponent(id)}/quantity`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body
    }));
}
/**
 * Hide a box from the public
 */
export function hideBox({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            hidden: boolean;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/${encodeURIComponent(id)}/hide`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Show a hidden box again
 */
export function unhideBox({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            hidden: boolean;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/${encodeURIComponent(id)}/unhide`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List a box again
 */
export function repeatBox({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: Box;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | PartnerNotActiveProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: NothingToRepeatProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/boxes/${encodeURIComponent(id)}/repeat`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List the active partners around a place, nearest first
 */
export function listPartnersNearby({ limit, cursor, lat, lng, radius }: {
    limit?: number;
    cursor?: string;
    lat: number;
    lng: number;
    radius?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            partners: NearbyPartner[];
        };
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/geo/partners/nearby${QS.query(QS.explode({
        limit,
        cursor,
        lat,
        lng,
        radius
    }))}`, {
        ...opts
    });
}
/**
 * Geocode an address
 */
export function geocodeAddress({ address, q }: {
    address?: string;
    q?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            latitude: number | null;
            longitude: number | null;
            found: boolean;
        };
    } | {
        status: 202;
        data: {};
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: GeocoderSilentProblem | GeocoderBusyProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/geo/geocode${QS.query(QS.explode({
        address,
        q
    }))}`, {
        ...opts
    });
}
/**
 * Set a partner's location
 */
export function setPartnerLocation({ body }: {
    body: {
        /** UUID v7 */
        partnerId: string;
        latitude: number;
        longitude: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {};
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/geo/internal/locations", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Place an order
 */
export function placeOrder({ idempotencyKey, body }: {
    idempotencyKey?: string;
    body: {
        /** `menuItemId` names a menu item or a box (`boxId` is a synonym; a line has one of them); quantities of the same id are summed */
        items: ({
            /** UUID v7 */
            menuItemId: string;
            boxId?: string | null;
            qty: number;
        } | {
            /** UUID v7 */
            boxId: string;
            menuItemId?: null;
            qty: number;
        })[];
        /** Major units, at most two decimals */
        totalAmount: number;
        /** UUID v7 */
        partnerId: string;
        address?: string;
        /** a promo code for this order; without it, the code that was applied last */
        promoCode?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: OrderReceipt;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | NoPartnerProblem | UnknownItemsProblem | WindowClosedProblem | WrongTotalProblem | PromoUnknownProblem | PromoNotStartedProblem | PromoEndedProblem | PromoOtherPartnerProblem | PromoMinimumNotMetProblem | PromoUsedUpProblem | PromoUsedByYouProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: DuplicateProblem | KeyReusedProblem | PartnerInactiveProblem | TooManyOpenProblem | WindowJustClosedProblem | NotEnoughProblem | CustomerLimitProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyUnknownPromosProblem | TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/orders", oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "idempotency-key": idempotencyKey
        })
    }));
}
/**
 * List your orders, newest first
 */
export function listOrders({ limit, cursor, status }: {
    limit?: number;
    cursor?: string;
    status?: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Order[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders${QS.query(QS.explode({
        limit,
        cursor,
        status
    }))}`, {
        ...opts
    });
}
/**
 * Read an order
 */
export function readOrder({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Order;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * List the events of an order, oldest first
 */
export function listOrderEvents({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OrderEvent[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders/${encodeURIComponent(id)}/events`, {
        ...opts
    });
}
/**
 * Cancel an order
 */
export function cancelOrder({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            orderId: string;
            status: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: OrderMoveNotAllowedProblem | TooLateToCancelProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders/${encodeURIComponent(id)}/cancel`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Decline an order that you did not place
 */
export function declineOrder({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: OrderNotDeclinableProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders/${encodeURIComponent(id)}/decline`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Move an order of your partner
 */
export function moveOrder({ id, body }: {
    id: string;
    body: {
        status: "READY" | "COMPLETED" | "CANCELLED";
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            orderId: string;
            status: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: OrderMoveNotAllowedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders/${encodeURIComponent(id)}/status`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Hand over an order of your partner
 */
export function handOverOrder({ id, body }: {
    id: string;
    body: {
        pickupCode: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            orderId: string;
            status: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | WrongPickupCodeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: OrderMoveNotAllowedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders/${encodeURIComponent(id)}/pickup`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Show the banners of a placement
 */
export function listBanners({ placement, locale, cityId, city, ifModifiedSince }: {
    placement: string;
    locale?: string;
    cityId?: string;
    city?: string;
    ifModifiedSince?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Banner[];
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/ads/banners${QS.query(QS.explode({
        placement,
        locale,
        cityId,
        city
    }))}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "if-modified-since": ifModifiedSince
        })
    });
}
/**
 * Follow a banner
 */
export function followBanner({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 302;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/ads/banners/${encodeURIComponent(id)}/click`, {
        ...opts
    });
}
/**
 * Read your profile
 */
export function readProfile(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: UserProfile;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me", {
        ...opts
    });
}
/**
 * Change your profile
 */
export function changeProfile({ body }: {
    body: {
        firstName?: string | null;
        lastName?: string | null;
        email?: string | null;
        locale?: string;
        timezone?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: UserProfile;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me", oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Delete your account
 */
export function deleteAccount(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me", {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Read your public identifier
 */
export function readServiceId(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            serviceId: string;
        };
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/service-id", {
        ...opts
    });
}
/**
 * Set your avatar
 */
export function setAvatar({ body }: {
    body: {
        avatarUrl?: string;
        /** an image that the caller uploaded */
        fileId?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            avatarUrl: string;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: ImageNotReadyProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/avatar", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Remove your avatar
 */
export function removeAvatar(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/avatar", {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Read your notification preferences
 */
export function readNotificationPreferences(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: NotificationPreferences;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/notification-preferences", {
        ...opts
    });
}
/**
 * Change your notification preferences
 */
export function changeNotificationPreferences({ body }: {
    body: {
        push?: boolean;
        /** not used so far; login codes are sent in any case */
        sms?: boolean;
        /** not used so far */
        email?: boolean;
        /** whether to get pushes about favourites; needs `push` too */
        marketing?: boolean;
        quietHoursStart?: string;
        quietHoursEnd?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: NotificationPreferences;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/notification-preferences", oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Ask for your own data as a file
 */
export function requestDataExport(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: DataExport;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: ExportsUsedUpProblem | TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/export", {
        ...opts,
        method: "POST"
    });
}
/**
 * Read the state and the address of your data's file
 */
export function readDataExport(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: DataExport;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/export", {
        ...opts
    });
}
/**
 * List your favourites, newest first
 */
export function listFavourites({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Favorite[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/users/me/favorites${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Add a box or a partner to your favourites
 */
export function addFavourite({ body }: {
    body: {
        /** in any case */
        targetType: "BOX" | "PARTNER";
        /** UUID v7 */
        targetId: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Favorite;
    } | {
        status: 201;
        data: Favorite;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/users/me/favorites", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Remove one of your favourites
 */
export function removeFavourite({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/users/me/favorites/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Sync the menu from the POS
 */
export function syncMenu(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            itemsSynced: number;
            itemsFailed: number;
            /** UUID v7 */
            syncId: string;
        };
    } | {
        status: 202;
        data: {
            /** UUID v7 */
            syncId: string;
            status?: "QUEUED" | "RUNNING" | "DONE" | "FAILED";
            /** 0 to 1; null while the length of the menu is unknown */
            progress?: number | null;
            /** when it will be done if it goes on as it did; null while that cannot be told, and when it has ended */
            estimatedEndAt?: string | null;
            itemsSynced?: number;
            itemsFailed?: number;
        };
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | PartnerBlockedProblem;
    } | {
        status: 409;
        data: NotConnectedProblem | PosRefusedProblem | PosMenuTooLargeProblem | PosMenuEmptyProblem | PosConnectionReplacedProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: PosSilentProblem | SyncAbandonedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/menu/pos/sync", {
        ...opts,
        method: "POST"
    });
}
/**
 * Read the progress and result of a sync
 */
export function readMenuSync({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: MenuSync;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/menu/pos/sync/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * List your menu
 */
export function listMenuItems({ limit, cursor, archived }: {
    limit?: number;
    cursor?: string;
    archived?: "0" | "1" | "true" | "false";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: MenuItem[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/menu/items${QS.query(QS.explode({
        limit,
        cursor,
        archived
    }))}`, {
        ...opts
    });
}
/**
 * Add a menu item
 */
export function addMenuItem({ body }: {
    body: {
        name: string;
        /** a name; a category is created when it is first used */
        category: string;
        /** Major units, at most two decimals */
        price: number;
        description?: string;
        weightGrams?: number;
        available?: boolean;
        /** the partner's own key; an existing item with it is updated and restored */
        externalId?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: MenuItem;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: MenuFullProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/menu/items", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List your menu's categories
 */
export function listMenuCategories({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/menu/categories${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Change a menu item
 */
export function changeMenuItem({ id, body }: {
    id: string;
    body: {
        name?: string;
        /** a name; a category is created when it is first used */
        category?: string;
        /** Major units, at most two decimals */
        price?: number;
        description?: string | null;
        weightGrams?: number | null;
        available?: boolean;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: MenuItem;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/menu/items/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Archive a menu item
 */
export function archiveMenuItem({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {};
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/menu/items/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Upload an image or a PDF
 */
export function uploadFile({ size, body }: {
    size?: number;
    body: {
        file: Blob;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: StoredFile;
    } | {
        status: 202;
        data: {
            /** UUID v7 */
            fileId: string;
            uploadPolicy?: UploadPolicy;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | OtherContentTypeProblem | BrokenUploadProblem | FileMissingProblem | InvalidInputProblem | OtherTypeDeclaredProblem | FileTypeNotAcceptedProblem | ImageUnreadableProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: TooManyUploadsProblem | DocumentsFullProblem;
    } | {
        status: 413;
        data: FileTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: StorageUnreachableProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/files/upload${QS.query(QS.explode({
        size
    }))}`, oazapfts.multipart({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Finish an upload in parts
 */
export function completeUpload({ id, body }: {
    id: string;
    body: {
        /** all parts, each with the `ETag` of its response */
        parts: {
            partNumber: number;
            etag: string;
        }[];
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: StoredFile;
    } | {
        status: 202;
        data: {
            /** UUID v7 */
            fileId: string;
            uploadPolicy?: UploadPolicy;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | OtherTypeBegunProblem | FileTypeNotAcceptedProblem | ImageUnreadableProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: TooManyUploadsProblem | DocumentsFullProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: StorageUnreachableProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/files/${encodeURIComponent(id)}/complete`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List your files, newest first
 */
export function listFiles({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OwnFile[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/files${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Read your file
 */
export function readFile({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: StoredFile;
    } | {
        status: 202;
        data: {
            /** UUID v7 */
            fileId: string;
            uploadPolicy?: UploadPolicy;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | ImageUnreadableProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | StorageUnreachableProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/files/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Delete your file
 */
export function deleteFile({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: ImageInUseProblem | FileConvertingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | StorageUnreachableProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/files/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Import a menu
 */
export function importMenu({ body }: {
    body: {
        file: Blob;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ImportedMenu;
    } | {
        status: 202;
        data: {
            /** UUID v7 */
            importId: string;
            /** rows that created an item */
            created?: number;
            /** rows of existing items, changed or not */
            updated?: number;
            /** rows that were skipped */
            failed?: number;
            /** FAILED: it ended before the end of the file; the rows imported before remain */
            status?: "QUEUED" | "RUNNING" | "DONE" | "FAILED";
            /** the part of the file that is processed */
            progress?: number;
            /** when it will be done if it goes on as it did; null while that cannot be told, and when it has ended */
            estimatedEndAt?: string | null;
        };
    } | {
        status: 400;
        data: OtherContentTypeProblem | BrokenUploadProblem | FileMissingProblem | NotAMenuProblem | MenuBrokenOffProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | MenuPartnerBlockedProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: TooManyImportsProblem;
    } | {
        status: 413;
        data: FileTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: UploadExpiredProblem | ImportFailedProblem | StorageUnreachableProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/menu/import/csv", oazapfts.multipart({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Read the progress and result of an import
 */
export function readMenuImport({ importId }: {
    importId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: MenuImport;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/menu/import/csv/${encodeURIComponent(importId)}`, {
        ...opts
    });
}
/**
 * List your partner's orders, newest first
 */
export function listPartnerOrders({ limit, cursor, status }: {
    limit?: number;
    cursor?: string;
    status?: "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Order[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/partners/me/orders${QS.query(QS.explode({
        limit,
        cursor,
        status
    }))}`, {
        ...opts
    });
}
/**
 * Read the pickup of your order as a calendar file
 */
export function readPickupCalendar({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/orders/${encodeURIComponent(id)}/pickup.ics`, {
        ...opts
    });
}
/**
 * List your partner's staff and invitations
 */
export function listStaff(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: StaffMember[];
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/me/staff", {
        ...opts
    });
}
/**
 * Invite a user to your partner's staff
 */
export function inviteStaff({ body }: {
    body: {
        phone: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: StaffInvitation;
    } | {
        status: 201;
        data: StaffInvitation;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | PartnerNotActiveProblem | NotTheOwnerProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: StaffFullProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/me/staff", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Remove a staff member, or withdraw an invitation
 */
export function removeStaff({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/partners/me/staff/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List your invitations to partners' staff, oldest first
 */
export function listInvitations({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OwnInvitation[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/users/me/invitations${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Join the staff of a partner
 */
export function acceptInvitation({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            partnerId: string;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: AlreadyMemberProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/users/me/invitations/${encodeURIComponent(id)}/accept`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Decline an invitation
 */
export function declineInvitation({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/users/me/invitations/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List your partner's statements, newest first
 */
export function listStatements({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Statement[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/partners/me/statements${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make an extract: a statement of other days than a month
 */
export function makeExtract({ body }: {
    body: {
        /** in the deployment's time zone */
        firstDay: string;
        /** over, in the deployment's time zone */
        lastDay: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Statement;
    } | {
        status: 201;
        data: Statement;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: ExtractsUsedUpProblem | TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/me/statements", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Read one of your partner's statements
 */
export function readStatement({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Statement;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/partners/me/statements/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * List the orders, payments and corrections on a statement
 */
export function listStatementLines({ id, limit, cursor }: {
    id: string;
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: StatementLine[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/partners/me/statements/${encodeURIComponent(id)}/lines${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Register a partner
 */
export function registerPartner({ body }: {
    body: {
        name: string;
        /** the platform's key of the city; an unknown key creates a city */
        cityId: string;
        address: string;
        latitude: number;
        longitude: number;
        phone?: string;
        email?: string;
        description?: string;
        timezone?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** UUID v7 */
            id: string;
            status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
            slug: string;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: AlreadyMemberProblem | TooManyRegistrationsProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/register", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Read your partner's profile
 */
export function readOwnPartner(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OwnPartner;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/me", {
        ...opts
    });
}
/**
 * Change your partner's profile
 */
export function changeOwnPartner({ body }: {
    body: {
        name?: string;
        /** the platform's key of the city; an unknown key creates a city */
        cityId?: string;
        address?: string;
        latitude?: number;
        longitude?: number;
        phone?: string | null;
        email?: string | null;
        description?: string | null;
        timezone?: string;
        preparationMinutes?: number;
        /** replaces all opening hours; in the partner's time zone. `closes` is after `opens`, and the hours of one day do not overlap */
        openingHours?: OpeningHours[];
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OwnPartner;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/me", oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Decline a partner that was registered with your phone
 */
export function declineOwnPartner(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 409;
        data: PartnerNotDeclinableProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/me/decline", {
        ...opts,
        method: "POST"
    });
}
/**
 * Read your partner's status
 */
export function readOwnPartnerStatus(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
            active: boolean;
        };
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/partners/me/status", {
        ...opts
    });
}
/**
 * Read a partner's public profile
 */
export function readPartner({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Partner;
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/partners/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * List partners, newest first
 */
export function listPartners({ limit, cursor, status, cityId, q }: {
    limit?: number;
    cursor?: string;
    status?: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
    cityId?: string;
    q?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
            slug: string;
            cityId: string;
            address: string;
            /** distance of the coordinates from the geocoded address; null while it is not geocoded or was not found */
            addressDistanceMeters: number | null;
            /** whether that distance is more than a kilometre */
            addressDoubtful: boolean;
            createdAt: string;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/partners${QS.query(QS.explode({
        limit,
        cursor,
        status,
        cityId,
        q
    }))}`, {
        ...opts
    });
}
/**
 * Approve a partner (also after a rejection or suspension)
 */
export function approvePartner({ id, body }: {
    id: string;
    body?: {
        reason?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: PartnerMoveNotAllowedProblem | OwnerPhoneTakenProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/partners/${encodeURIComponent(id)}/approve`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Reject a registration
 */
export function rejectPartner({ id, body }: {
    id: string;
    body?: {
        reason?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: PartnerMoveNotAllowedProblem | OwnerPhoneTakenProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/partners/${encodeURIComponent(id)}/reject`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Suspend a partner
 */
export function suspendPartner({ id, body }: {
    id: string;
    body?: {
        reason?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: PartnerMoveNotAllowedProblem | OwnerPhoneTakenProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/partners/${encodeURIComponent(id)}/suspend`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Change a partner's owner
 */
export function changePartnerOwner({ id, body }: {
    id: string;
    body: {
        phone: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED";
            /** null until their first login */
            ownerId: string | null;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: OwnerTakenProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/partners/${encodeURIComponent(id)}/owner`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * List the platform's cities, by key
 */
export function listCities({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: City[];
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/cities${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Name a city
 */
export function nameCity({ id, body }: {
    id: string;
    body: {
        name: string;
        timezone: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: City;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/cities/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Receive a POS webhook
 */
export function receivePosWebhook({ provider, webhookId, webhookTimestamp, webhookSignature, body }: {
    provider: string;
    webhookId?: string;
    webhookTimestamp?: string;
    webhookSignature?: string;
    body: unknown;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            received: boolean;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: SignatureInvalidProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/pos/webhooks/${encodeURIComponent(provider)}`, oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "webhook-id": webhookId,
            "webhook-timestamp": webhookTimestamp,
            "webhook-signature": webhookSignature
        })
    }));
}
/**
 * List the POS systems that can be connected
 */
export function listPosAdapters(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PosAdapter[];
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/pos/adapters", {
        ...opts
    });
}
/**
 * Connect a partner to its POS
 */
export function connectPos({ body }: {
    body: {
        /** UUID v7 */
        partnerId: string;
        /** one of `GET /pos/adapters` */
        adapterName: "square" | "poster" | "iiko" | "generic";
        /** a JSON document that matches the adapter's `credentialsSchema`, as text */
        credentialsJson: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            partnerId: string;
            adapterName: string;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | InvalidCredentialsProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: PosAccountTakenProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/pos/credentials", oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Disconnect a partner from its POS
 */
export function disconnectPos({ partnerId }: {
    partnerId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/pos/credentials/${encodeURIComponent(partnerId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Test credentials
 */
export function testPosConnection({ body }: {
    body: {
        /** one of `GET /pos/adapters` */
        adapterName: "square" | "poster" | "iiko" | "generic";
        /** a JSON document that matches the adapter's `credentialsSchema`, as text */
        credentialsJson: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            ok: boolean;
            message: string;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | InvalidCredentialsProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem | PartnerBlockedProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/pos/test-connection", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List POS events, newest first
 */
export function listPosEvents({ limit, cursor, status }: {
    limit?: number;
    cursor?: string;
    status?: "QUEUED" | "PROCESSED" | "PARKED";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PosEvent[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/pos/events${QS.query(QS.explode({
        limit,
        cursor,
        status
    }))}`, {
        ...opts
    });
}
/**
 * Replay a parked event
 */
export function replayPosEvent({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** ascending in the order in which events were received */
            id: number;
            status: "QUEUED" | "PROCESSED" | "PARKED";
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: EventNotParkedProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/pos/events/${encodeURIComponent(id)}/replay`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Review your order
 */
export function reviewOrder({ body }: {
    body: {
        /** UUID v7 */
        orderId: string;
        rating: number;
        text?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** UUID v7 */
            id: string;
            /** UUID v7 */
            orderId: string;
            rating: number;
            status: "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: OrderCancelledProblem | OrderNotPickedUpProblem | OwnPartnerProblem | AlreadyReviewedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/reviews", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Change your review
 */
export function changeReview({ id, body }: {
    id: string;
    body: {
        rating?: number;
        text?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            status: "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: ReviewModeratedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/reviews/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * List the reviews of a partner, newest first
 */
export function listPartnerReviews({ id, limit, cursor }: {
    id: string;
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ShownReview[];
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/reviews/partners/${encodeURIComponent(id)}${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Read the rating of a partner
 */
export function readPartnerRating({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            partnerId: string;
            avgRating: number;
            reviewCount: number;
        };
    } | {
        status: 304;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/reviews/partners/${encodeURIComponent(id)}/rating`, {
        ...opts
    });
}
/**
 * List reviews for moderation, oldest first
 */
export function listReviewsToModerate({ limit, cursor, status }: {
    limit?: number;
    cursor?: string;
    status?: "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ReviewToModerate[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/reviews/admin${QS.query(QS.explode({
        limit,
        cursor,
        status
    }))}`, {
        ...opts
    });
}
/**
 * Approve or reject a review
 */
export function moderateReview({ id, body }: {
    id: string;
    body: {
        decision?: "APPROVE" | "REJECT";
        status?: "APPROVED" | "REJECTED";
        revision?: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            status: "PUBLISHED" | "PENDING" | "APPROVED" | "REJECTED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: ReviewEditedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/reviews/admin/${encodeURIComponent(id)}/moderate`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Read the global rate
 */
export function readGlobalCommission(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CommissionRate;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/commissions/global", {
        ...opts
    });
}
/**
 * Set the global rate
 */
export function setGlobalCommission({ body }: {
    body: {
        /** percent, at most two decimals */
        ratePercent: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CommissionRate;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/commissions/global", oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Read a partner's rate
 */
export function readPartnerCommission({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CommissionRate;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/commissions/partners/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Set a partner's own rate
 */
export function setPartnerCommission({ id, body }: {
    id: string;
    body: {
        /** percent, at most two decimals */
        ratePercent: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CommissionRate;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/commissions/partners/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Remove a partner's own rate
 */
export function removePartnerCommission({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/commissions/partners/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List the changes of rates, newest first
 */
export function listCommissionChanges({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CommissionChange[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/commissions/changes${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * List what is owed between partners and the platform
 */
export function listBalances({ limit, cursor, owing }: {
    limit?: number;
    cursor?: string;
    owing?: "PARTNER" | "PLATFORM";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PartnerBalance[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements${QS.query(QS.explode({
        limit,
        cursor,
        owing
    }))}`, {
        ...opts
    });
}
/**
 * List all partners' statements of a month, by number
 */
export function listStatementsOfMonth({ limit, cursor, month }: {
    limit?: number;
    cursor?: string;
    month: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Statement[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements/statements${QS.query(QS.explode({
        limit,
        cursor,
        month
    }))}`, {
        ...opts
    });
}
/**
 * Export the ledger, in the order of booking
 */
export function listLedgerEntries({ limit, cursor, after }: {
    limit?: number;
    cursor?: string;
    after?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: LedgerEntry[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements/entries${QS.query(QS.explode({
        limit,
        cursor,
        after
    }))}`, {
        ...opts
    });
}
/**
 * Show a partner's statement of a month as it would be made now
 */
export function draftStatement({ partnerId, month }: {
    partnerId: string;
    month?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: StatementDraft;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements/${encodeURIComponent(partnerId)}/draft${QS.query(QS.explode({
        month
    }))}`, {
        ...opts
    });
}
/**
 * List a partner's statements, newest first, extracts too
 */
export function listStatementsOfPartner({ partnerId, limit, cursor }: {
    partnerId: string;
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Statement[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements/${encodeURIComponent(partnerId)}/statements${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make an extract: a partner's statement of other days than a month
 */
export function makeExtractOfPartner({ partnerId, body }: {
    partnerId: string;
    body: {
        /** in the deployment's time zone */
        firstDay: string;
        /** over, in the deployment's time zone */
        lastDay: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Statement;
    } | {
        status: 201;
        data: Statement;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements/${encodeURIComponent(partnerId)}/extracts`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Record that a partner and the platform have settled an amount
 */
export function recordPayout({ partnerId, body }: {
    partnerId: string;
    body: {
        /** Major units, at most two decimals */
        amount: number;
        paidBy: "PARTNER" | "PLATFORM";
        /** not in the future */
        paidAt: string;
        /** of its own among the partner's of this kind: sent again with the same facts, it is not booked again */
        reference: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BookedEntry;
    } | {
        status: 201;
        data: BookedEntry;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: ReferenceUsedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements/${encodeURIComponent(partnerId)}/payouts`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Correct what a partner and the platform owe each other
 */
export function correctBalance({ partnerId, body }: {
    partnerId: string;
    body: {
        /** Major units, at most two decimals */
        amount: number;
        inFavourOf: "PARTNER" | "PLATFORM";
        /** of its own among the partner's of this kind: sent again with the same facts, it is not booked again */
        reference: string;
        reason: string;
        /** the partner's order that it is about */
        orderId?: string | null;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BookedEntry;
    } | {
        status: 201;
        data: BookedEntry;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: ReferenceUsedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/settlements/${encodeURIComponent(partnerId)}/corrections`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Read your score
 */
export function readLoyaltyScore(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: LoyaltyScore;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/loyalty/score", {
        ...opts
    });
}
/**
 * Use a referral code
 */
export function useReferralCode({ body }: {
    body: {
        referralCode: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            userId: string;
            points: number;
            level: "BRONZE" | "SILVER" | "GOLD" | "PLATINUM";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | UnknownCodeProblem | OwnCodeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: AlreadyReferredProblem | AlreadyCustomerProblem | ReferralCycleProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/loyalty/referral", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Apply a promo code
 */
export function applyPromoCode({ body }: {
    body: {
        code?: string;
        /** synonym of `code` */
        promoCode?: string;
        /** Major units, at most two decimals */
        orderAmount?: number;
        /** synonym of `orderAmount` */
        amount?: number;
        /** synonym of `orderAmount` */
        totalAmount?: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            valid: boolean;
            discountCents: number;
            error: string | null;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | PromoUnknownProblem | PromoNotStartedProblem | PromoEndedProblem | PromoOtherPartnerProblem | PromoMinimumNotMetProblem | PromoUsedUpProblem | PromoUsedByYouProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyUnknownPromosProblem | TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/loyalty/promo/apply", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List promo codes and their uses, newest first
 */
export function listPromoCodes({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Promo[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/promo${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Create a promo code
 */
export function createPromoCode({ body }: {
    body: {
        code: string;
        /** of the order's amount; either this or `discountCents` */
        discountPercent?: number;
        /** minor units */
        discountCents?: number;
        /** Major units, at most two decimals */
        minOrderAmount?: number;
        maxDiscountCents?: number;
        /** ISO 8601 with an offset */
        startsAt?: string;
        /** after `startsAt` */
        endsAt?: string;
        /** by all users together */
        maxUses?: number;
        maxUsesPerUser?: number;
        /** only for this partner's orders */
        partnerId?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** UUID v7 */
            id: string;
            code: string;
            active: boolean;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: PromoExistsProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/promo/create", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Enable or disable a promo code
 */
export function setPromoCodeActive({ id, body }: {
    id: string;
    body: {
        active: boolean;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            active: boolean;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/promo/${encodeURIComponent(id)}/active`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Register a device for pushes
 */
export function registerDevice({ body }: {
    body: {
        /** an FCM registration token (10 to 4096 letters, digits, `:` `_` `-` `.`), or for `web` a PushSubscription as JSON */
        pushToken: string;
        /** in any case */
        platform: "ios" | "android" | "web";
        /** the user's by default */
        locale?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: RegisteredDevice;
    } | {
        status: 201;
        data: RegisteredDevice;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | InvalidPushTokenProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/notifications/devices", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List your devices, newest first
 */
export function listDevices(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Device[];
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/notifications/devices", {
        ...opts
    });
}
/**
 * Delete one of your devices
 */
export function deleteDevice({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/notifications/devices/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List your notifications, newest first
 */
export function listNotifications({ limit, cursor, unread }: {
    limit?: number;
    cursor?: string;
    unread?: "0" | "1" | "true" | "false";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Notification[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/notifications${QS.query(QS.explode({
        limit,
        cursor,
        unread
    }))}`, {
        ...opts
    });
}
/**
 * Mark your notifications as read
 */
export function markNotificationsRead({ body }: {
    body: {
        ids?: string[];
        /** this one and all older ones */
        upTo?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** how many were not read before */
            read: number;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/notifications/read", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Read the public key for Web Push subscriptions
 */
export function readWebPushKey(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            publicKey: string;
        };
    } | {
        status: 304;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/notifications/vapid-public-key", {
        ...opts
    });
}
/**
 * List a user's notifications and their deliveries, newest first
 */
export function listUserNotifications({ limit, cursor, userId }: {
    limit?: number;
    cursor?: string;
    userId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SupportNotification[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/notifications${QS.query(QS.explode({
        limit,
        cursor,
        userId
    }))}`, {
        ...opts
    });
}
/**
 * Send a login code to a phone
 */
export function sendLoginCode({ body }: {
    body: {
        phone: string;
        /** a refresh token that this device got for the phone, also one that was used or logged out: limits that strangers use up do not apply to the device then */
        refreshToken?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            message: string;
            /** how long to wait before requesting another code */
            retryAfterSeconds: number;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyCodesProblem | TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/auth/otp/send", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Exchange a login code for tokens
 */
export function logIn({ body }: {
    body: {
        phone: string;
        code: string;
        /** a refresh token that this device got for the phone, also one that was used or logged out: limits that strangers use up do not apply to the device then */
        refreshToken?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Tokens;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem | InvalidCodeProblem;
    } | {
        status: 401;
        data: ExpiredCodeProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyGuessesProblem | TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/auth/otp/verify", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Exchange a refresh token for new tokens
 */
export function refreshTokens({ body }: {
    body: {
        refreshToken: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Tokens;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: InvalidRefreshTokenProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/auth/token/refresh", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * End the session of a refresh token
 */
export function logOut({ body }: {
    body: {
        refreshToken: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem | InvalidTokenProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/auth/logout", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Create a service key
 */
export function createServiceKey({ body }: {
    body: {
        /** who holds it */
        name: string;
        scopes: ("ads:read" | "events:read" | "geo:write" | "ops:read" | "webhooks:write")[];
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            scopes: ("ads:read" | "events:read" | "geo:write" | "ops:read" | "webhooks:write")[];
            key: string;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/api-keys", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the service keys, newest first
 */
export function listServiceKeys({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            scopes: ("ads:read" | "events:read" | "geo:write" | "ops:read" | "webhooks:write")[];
            createdAt: string;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/api-keys${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Revoke a service key at once
 */
export function revokeServiceKey({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/api-keys/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Create a campaign
 */
export function createCampaign({ body }: {
    body: {
        name: string;
        /** where its banners may be shown */
        placements: string[];
        /** Major units, at most two decimals */
        budget: number;
        /** the price of a thousand impressions, in major units; without it they are free */
        cpm?: number;
        /** without it, the campaign starts at its activation */
        startsAt?: string;
        /** after the start and in the future; without it, the campaign runs until it is completed */
        endsAt?: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** UUID v7 */
            id: string;
            name: string;
            status: "DRAFT" | "ACTIVE" | "PAUSED" | "COMPLETED";
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/ads/campaigns", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List campaigns, newest first
 */
export function listCampaigns({ limit, cursor, status }: {
    limit?: number;
    cursor?: string;
    status?: "DRAFT" | "ACTIVE" | "PAUSED" | "COMPLETED";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Campaign[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns${QS.query(QS.explode({
        limit,
        cursor,
        status
    }))}`, {
        ...opts
    });
}
/**
 * Read a campaign
 */
export function readCampaign({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Campaign;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Change a campaign
 */
export function changeCampaign({ id, body }: {
    id: string;
    body: {
        name?: string;
        /** where its banners may be shown */
        placements?: string[];
        /** Major units, at most two decimals */
        budget?: number;
        cpm?: number | null;
        startsAt?: string | null;
        endsAt?: string | null;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Campaign;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: CampaignCompletedProblem | BudgetSpentProblem | PlacementInUseProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Activate a campaign
 */
export function activateCampaign({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Campaign;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: CampaignEndedProblem | CampaignMoveNotAllowedProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/activate`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Pause a campaign
 */
export function pauseCampaign({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Campaign;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: CampaignMoveNotAllowedProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/pause`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Complete a campaign
 */
export function completeCampaign({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Campaign;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: CampaignMoveNotAllowedProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/complete`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Add a banner to a campaign
 */
export function addCampaignBanner({ id, body }: {
    id: string;
    body: {
        imageUrl?: string;
        /** an image that the caller uploaded */
        imageFileId?: string;
        /** where a tap on it leads */
        link: string;
        /** one of the campaign's */
        placement: string;
        /** ISO 8601 with an offset */
        startsAt: string;
        /** after the start, and in the future */
        endsAt: string;
        /** shown only in requests for this locale; without it, in all */
        locale?: string;
        /** shown only in requests for this city; without it, in all */
        cityId?: string;
        /** how often it comes first, compared with the others */
        weight?: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: CampaignBanner;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: CampaignCompletedProblem | ImageNotReadyProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/banners`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List a campaign's banners
 */
export function listCampaignBanners({ id, limit, cursor }: {
    id: string;
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CampaignBanner[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/banners${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Read a banner
 */
export function readCampaignBanner({ id, bannerId }: {
    id: string;
    bannerId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CampaignBanner;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/banners/${encodeURIComponent(bannerId)}`, {
        ...opts
    });
}
/**
 * Change a banner
 */
export function changeCampaignBanner({ id, bannerId, body }: {
    id: string;
    bannerId: string;
    body: {
        imageUrl?: string;
        /** an image that the caller uploaded */
        imageFileId?: string;
        /** where a tap on it leads */
        link?: string;
        /** one of the campaign's */
        placement?: string;
        /** ISO 8601 with an offset */
        startsAt?: string;
        /** after the start, and in the future */
        endsAt?: string;
        locale?: string | null;
        cityId?: string | null;
        /** how often it comes first, compared with the others */
        weight?: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CampaignBanner;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: CampaignCompletedProblem | ImageNotReadyProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/banners/${encodeURIComponent(bannerId)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Delete a banner
 */
export function deleteCampaignBanner({ id, bannerId }: {
    id: string;
    bannerId: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/banners/${encodeURIComponent(bannerId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Show a campaign's counts, day by day
 */
export function readCampaignStats({ id, $from, to }: {
    id: string;
    $from?: string;
    to?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CampaignDay[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ads/campaigns/${encodeURIComponent(id)}/stats${QS.query(QS.explode({
        "from": $from,
        to
    }))}`, {
        ...opts
    });
}
/**
 * Follow the log of events
 */
export function listEvents({ after, types, wait, limit }: {
    after?: string;
    types?: string;
    wait?: number;
    limit?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: EventPage;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem;
    } | {
        status: 410;
        data: EventsGoneProblem;
    } | {
        status: 429;
        data: TooManyWaitsProblem | TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/events${QS.query(QS.explode({
        after,
        types,
        wait,
        limit
    }))}`, {
        ...opts
    });
}
/**
 * Have events sent to an address
 */
export function createWebhookEndpoint({ body }: {
    body: {
        /** an https address that anybody can reach; redirects are not followed */
        url: string;
        types?: string[] | null;
        /** for people */
        description?: string | null;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: NewWebhookEndpoint;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: TooManyWebhookEndpointsProblem | WebhookEndpointStoppedByOperatorProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/webhook-endpoints", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the webhook endpoints
 */
export function listWebhookEndpoints({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WebhookEndpoint[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Read a webhook endpoint
 */
export function readWebhookEndpoint({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WebhookEndpoint;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Change, stop or start a webhook endpoint
 */
export function changeWebhookEndpoint({ id, body }: {
    id: string;
    body: {
        /** an https address that anybody can reach; redirects are not followed */
        url?: string;
        types?: string[] | null;
        description?: string | null;
        enabled?: boolean;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WebhookEndpoint;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: WebhookEndpointStoppedByOperatorProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body
    }));
}
/**
 * Delete a webhook endpoint
 */
export function deleteWebhookEndpoint({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: WebhookEndpointStoppedByOperatorProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Replace the secret of a webhook endpoint
 */
export function rotateWebhookSecret({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** shown only now; verifies the header `webhook-signature` (Standard Webhooks) */
            secret: string;
            oldSecretUntil: string;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}/rotate-secret`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List what was sent to a webhook endpoint, the latest event first
 */
export function listWebhookDeliveries({ id, limit, cursor, status }: {
    id: string;
    limit?: number;
    cursor?: string;
    status?: "PENDING" | "SENT" | "FAILED";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WebhookDelivery[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}/deliveries${QS.query(QS.explode({
        limit,
        cursor,
        status
    }))}`, {
        ...opts
    });
}
/**
 * Send an event to a webhook endpoint again
 */
export function resendWebhook({ id, position }: {
    id: string;
    position: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: {
            position: number;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 409;
        data: WebhookEndpointStoppedProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(position)}/resend`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Send the events of a time to a webhook endpoint again
 */
export function resendWebhooks({ id, body }: {
    id: string;
    body: {
        /** events that happened then or later */
        since: string;
        /** only events that happened before this time; all by default */
        before?: string;
        /** only events at later positions */
        after?: number;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: ResentWebhooks;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: WebhookEndpointStoppedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}/resend`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Send a ping to a webhook endpoint, and read what it answers
 */
export function testWebhookEndpoint({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WebhookTest;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | PartnersOnlyProblem | NotTheOwnerProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/webhook-endpoints/${encodeURIComponent(id)}/test`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Show the platform's figures
 */
export function readDashboard({ period, partnerId }: {
    period?: "7d" | "30d" | "90d" | "1y";
    partnerId?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** without cancelled orders */
            orders: number;
            /** their amount due, in major units */
            gmv: number;
            activePartners: number;
            /** Major units, at most two decimals */
            commission: number;
            foodSavedGrams: number;
            period: string;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/analytics/dashboard${QS.query(QS.explode({
        period,
        partnerId
    }))}`, {
        ...opts
    });
}
/**
 * Show a partner's figures
 */
export function readPartnerAnalytics({ id, period }: {
    id: string;
    period?: "7d" | "30d" | "90d" | "1y";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            partnerId: string;
            /** without cancelled orders */
            orders: number;
            /** their amount due, in major units */
            gmv: number;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/analytics/partners/${encodeURIComponent(id)}${QS.query(QS.explode({
        period
    }))}`, {
        ...opts
    });
}
/**
 * Rank the boxes that were ordered
 */
export function rankBoxes({ period, partnerId, limit, sort }: {
    period?: "7d" | "30d" | "90d" | "1y";
    partnerId?: string;
    limit?: number;
    sort?: "gmv" | "orders";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            boxId: string;
            title: string;
            /** without cancelled orders */
            orders: number;
            /** their amount due, in major units */
            gmv: number;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/analytics/top-boxes${QS.query(QS.explode({
        period,
        partnerId,
        limit,
        sort
    }))}`, {
        ...opts
    });
}
/**
 * Rank the partners that had orders
 */
export function rankPartners({ period, partnerId, limit, sort }: {
    period?: "7d" | "30d" | "90d" | "1y";
    partnerId?: string;
    limit?: number;
    sort?: "gmv" | "orders";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            partnerId: string;
            name: string;
            /** without cancelled orders */
            orders: number;
            /** their amount due, in major units */
            gmv: number;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/analytics/top-partners${QS.query(QS.explode({
        period,
        partnerId,
        limit,
        sort
    }))}`, {
        ...opts
    });
}
/**
 * Count orders by hour of the day
 */
export function countOrdersByHour({ period, partnerId }: {
    period?: "7d" | "30d" | "90d" | "1y";
    partnerId?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            hour: number;
            count: number;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/analytics/order-heatmap${QS.query(QS.explode({
        period,
        partnerId
    }))}`, {
        ...opts
    });
}
/**
 * Count listed boxes by hour of the day
 */
export function countListingsByHour({ period, partnerId }: {
    period?: "7d" | "30d" | "90d" | "1y";
    partnerId?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            hour: number;
            count: number;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/analytics/listing-heatmap${QS.query(QS.explode({
        period,
        partnerId
    }))}`, {
        ...opts
    });
}
/**
 * Rank the hours of the day by orders
 */
export function rankPeakHours({ period, partnerId, limit }: {
    period?: "7d" | "30d" | "90d" | "1y";
    partnerId?: string;
    limit?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            hour: number;
            count: number;
        }[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/analytics/peak-hours${QS.query(QS.explode({
        period,
        partnerId,
        limit
    }))}`, {
        ...opts
    });
}
/**
 * Show your partner's figures
 */
export function readOwnAnalytics({ period }: {
    period?: "7d" | "30d" | "90d" | "1y";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** UUID v7 */
            partnerId: string;
            /** without cancelled orders */
            orders: number;
            /** their amount due, in major units */
            gmv: number;
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | MalformedInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: PartnersOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/partners/me/analytics${QS.query(QS.explode({
        period
    }))}`, {
        ...opts
    });
}
/**
 * Read the state of the queues, and what waits for an operator
 */
export function readOverview(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Overview;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/ops", {
        ...opts
    });
}
/**
 * Read what a queue did in each minute of the last hours
 */
export function listQueueMinutes({ queue, hours }: {
    queue: "ad-events" | "address-checks" | "data-export" | "fan-out" | "geocode" | "images" | "menu-import" | "pos-events" | "pos-sync" | "push" | "rollups" | "sms" | "statements" | "upkeep" | "webhooks";
    hours?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: QueueMinute[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/queues/${encodeURIComponent(queue)}/minutes${QS.query(QS.explode({
        hours
    }))}`, {
        ...opts
    });
}
/**
 * Pause or resume a queue, or change how many of its jobs a process runs at once or all together start a minute
 */
export function changeQueue({ queue, body }: {
    queue: "ad-events" | "address-checks" | "data-export" | "fan-out" | "geocode" | "images" | "menu-import" | "pos-events" | "pos-sync" | "push" | "rollups" | "sms" | "statements" | "upkeep" | "webhooks";
    body: {
        paused?: boolean;
        /** null: as configured */
        concurrency?: number | null;
        /** null: no limit */
        perMinute?: number | null;
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: QueueSettings;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/queues/${encodeURIComponent(queue)}`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body
    }));
}
/**
 * Find an order, a notification, a job or anything else by an id, a number, a code or a phone
 */
export function searchOperations({ q, at }: {
    q: string;
    at?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Found[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/search${QS.query(QS.explode({
        q,
        at
    }))}`, {
        ...opts
    });
}
/**
 * Read all that happened to an order: its moves, jobs, notifications and their deliveries
 */
export function inspectOrder({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            order: InspectedOrder;
            notifications: InspectedNotification[];
            jobs: Job[];
            timeline: TimelineEntry[];
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/orders/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Read the phone and the address of an order's customer, which is audited
 */
export function showOrderContact({ id, body }: {
    id: string;
    body: {
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            phone: string | null;
            address: string | null;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/orders/${encodeURIComponent(id)}/contact`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Read why a notification was sent or not, with its job and its deliveries
 */
export function inspectNotification({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            notification: InspectedNotification;
            jobs: Job[];
            timeline: TimelineEntry[];
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/notifications/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Read what a box, a file, a menu import, a POS sync or a partner is, and the jobs that it caused when it was made
 */
export function inspectThing({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            found: Found;
            jobs: Job[];
            timeline: TimelineEntry[];
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/things/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Read the jobs that a request caused, directly or through other jobs, and their notifications
 */
export function inspectRequest({ id, at }: {
    id: string;
    at?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            notifications: InspectedNotification[];
            jobs: Job[];
            timeline: TimelineEntry[];
        };
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/requests/${encodeURIComponent(id)}${QS.query(QS.explode({
        at
    }))}`, {
        ...opts
    });
}
/**
 * List jobs that are dead, due or waiting, newest first
 */
export function listJobs({ limit, cursor, state, queue, error, stagedFrom, stagedBefore, argument, minAttempts }: {
    limit?: number;
    cursor?: string;
    state?: "DEAD" | "DUE" | "WAITING";
    queue?: "ad-events" | "address-checks" | "data-export" | "fan-out" | "geocode" | "images" | "menu-import" | "pos-events" | "pos-sync" | "push" | "rollups" | "sms" | "statements" | "upkeep" | "webhooks";
    error?: string;
    stagedFrom?: string;
    stagedBefore?: string;
    argument?: string;
    minAttempts?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Job[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/jobs${QS.query(QS.explode({
        limit,
        cursor,
        state,
        queue,
        error,
        stagedFrom,
        stagedBefore,
        argument,
        minAttempts
    }))}`, {
        ...opts
    });
}
/**
 * Replay or dismiss dead jobs; run, snooze or cancel open ones, by their numbers
 */
export function settleJobs({ body }: {
    body: {
        /** of dead jobs: REPLAY gives all attempts again, DISMISS ends them without their effect. Of open ones: RUN makes them due now, SNOOZE due at `until`, CANCEL ends them without their effect; one that is running may still have it */
        kind: "REPLAY" | "DISMISS" | "RUN" | "SNOOZE" | "CANCEL";
        ids: number[];
        /** when snoozed jobs are to run; only for SNOOZE */
        until?: string;
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** how many of them were in a state for it */
            changed: number;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/ops/jobs/settle", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Replay or dismiss all dead jobs or parked POS events that match, or run, snooze or cancel all open jobs, however many
 */
export function createBulkAction({ body }: {
    body: {
        /** of dead jobs: REPLAY gives all attempts again, DISMISS ends them without their effect. Of open ones: RUN makes them due now, SNOOZE due at `until`, CANCEL ends them without their effect; one that is running may still have it */
        kind: "REPLAY" | "DISMISS" | "RUN" | "SNOOZE" | "CANCEL";
        /** which jobs are meant: DEAD ones are replayed or dismissed, DUE and WAITING ones run, snoozed or cancelled; PARKED: POS events, which are replayed or dismissed */
        state?: "DEAD" | "DUE" | "WAITING" | "PARKED";
        queue?: "ad-events" | "address-checks" | "data-export" | "fan-out" | "geocode" | "images" | "menu-import" | "pos-events" | "pos-sync" | "push" | "rollups" | "sms" | "statements" | "upkeep" | "webhooks";
        /** a part of the last error, in any case */
        error?: string;
        /** only jobs that were staged at this time or later */
        stagedFrom?: string;
        /** only jobs that were staged before this time */
        stagedBefore?: string;
        /** only jobs whose payload has this field with this value, as name=value */
        argument?: string;
        /** only jobs that were tried at least so often */
        minAttempts?: number;
        /** whose parked events are meant; only with PARKED */
        partnerId?: string;
        /** needed without any condition other than the state */
        all?: true;
        /** when snoozed jobs are to run; only for SNOOZE */
        until?: string;
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: BulkAction;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/ops/bulk-actions", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List bulk actions, newest first
 */
export function listBulkActions({ limit, cursor }: {
    limit?: number;
    cursor?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BulkAction[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/bulk-actions${QS.query(QS.explode({
        limit,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Read how far a bulk action is
 */
export function readBulkAction({ id }: {
    id: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BulkAction;
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/bulk-actions/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Stop a bulk action before its end
 */
export function stopBulkAction({ id, body }: {
    id: string;
    body: {
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BulkAction;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/bulk-actions/${encodeURIComponent(id)}/stop`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Replay or dismiss parked POS events: by their numbers, of one partner, or all
 */
export function settleParkedEvents({ body }: {
    body: {
        kind: "REPLAY" | "DISMISS";
        ids?: number[];
        /** UUID v7 */
        partnerId?: string;
        /** needed without `ids` and without `partnerId` */
        all?: true;
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** how many of them were parked */
            changed: number;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/ops/pos-events/settle", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Run an upkeep task now, beside its schedule
 */
export function runUpkeepTask({ task, body }: {
    task: "canary" | "expire-boxes" | "repeat-boxes" | "complete-campaigns" | "bulk-actions" | "purge-staged-jobs" | "erase-expired-codes" | "purge-logins" | "no-shows" | "purge-idempotency-keys" | "settle-menu-imports" | "purge-menu-imports" | "erase-accounts" | "erase-counter-addresses" | "purge-registrations" | "purge-notifications" | "purge-geocodes" | "clear-away-files" | "sync-menus" | "abandon-dead-syncs" | "reschedule-stalled-inboxes" | "purge-pos-events" | "purge-rate-counters" | "purge-ad-batches" | "queue-figures" | "drop-old-events" | "purge-webhooks" | "book-ledger" | "make-statements";
    body: {
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: {
            /** ascending in the order in which jobs were staged */
            jobId: number;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/upkeep/${encodeURIComponent(task)}/run`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Roll up past days again, each as a job
 */
export function runRollups({ body }: {
    body: {
        "from": string;
        to: string;
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: {
            days: number;
        };
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem | WrongDaysProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/ops/rollups/run", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Read which partners, users and webhook endpoints have the most of a queue's due jobs
 */
export function listJobOwners({ queue }: {
    queue: "ad-events" | "address-checks" | "data-export" | "fan-out" | "geocode" | "images" | "menu-import" | "pos-events" | "pos-sync" | "push" | "rollups" | "sms" | "statements" | "upkeep" | "webhooks";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: JobOwner[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/queues/${encodeURIComponent(queue)}/backlog`, {
        ...opts
    });
}
/**
 * Read which partners have the most POS events that are not applied
 */
export function listPartnerEvents(none: Record<string, never> = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PartnerEvents[];
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>("/api/v1/admin/ops/pos-events/backlog", {
        ...opts
    });
}
/**
 * List the webhook endpoints of all, and how sending to them goes
 */
export function listWatchedEndpoints({ limit, cursor, failing }: {
    limit?: number;
    cursor?: string;
    failing?: "0" | "1" | "true" | "false";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WatchedEndpoint[];
    } | {
        status: 400;
        data: UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem | KeyUnknownProblem;
    } | {
        status: 403;
        data: KeyScopeMissingProblem | OperatorsOnlyProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/webhook-endpoints${QS.query(QS.explode({
        limit,
        cursor,
        failing
    }))}`, {
        ...opts
    });
}
/**
 * Stop or start a webhook endpoint of anyone
 */
export function switchWebhookEndpoint({ id, body }: {
    id: string;
    body: {
        enabled: boolean;
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WatchedEndpoint;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/webhook-endpoints/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PATCH",
        body
    }));
}
/**
 * Send the events of a time to a webhook endpoint of anyone again
 */
export function resendWebhooksOf({ id, body }: {
    id: string;
    body: {
        /** ISO 8601 with an offset */
        since: string;
        /** ISO 8601 with an offset */
        before?: string;
        /** only events at later positions */
        after?: number;
        /** for the audit log */
        why: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ResentByOperator;
    } | {
        status: 400;
        data: NotJsonProblem | NotSentAsJsonProblem | UnreadableProblem | OutOfRangeProblem | InvalidInputProblem;
    } | {
        status: 401;
        data: TokenInvalidProblem | TokenExpiredProblem | SessionEndedProblem | TokenMissingProblem;
    } | {
        status: 403;
        data: AdminsOnlyProblem;
    } | {
        status: 404;
        data: NotFoundProblem;
    } | {
        status: 408;
        data: RequestTooSlowProblem;
    } | {
        status: 409;
        data: WebhookEndpointStoppedProblem;
    } | {
        status: 413;
        data: BodyTooLargeProblem;
    } | {
        status: 429;
        data: TooManyRequestsProblem;
    } | {
        status: 500;
        data: InternalProblem;
    } | {
        status: 503;
        data: OverloadedProblem | DatabaseUnreachableProblem | DatabaseOverloadedProblem | DatabaseContendedProblem | DatabaseTooSlowProblem;
    }>(`/api/v1/admin/ops/webhook-endpoints/${encodeURIComponent(id)}/resend`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
