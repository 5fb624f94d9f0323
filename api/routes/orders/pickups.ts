import { z } from "zod";
import { languageOf, type Language } from "../../../lib/domain/notification-texts.js";
import { sql } from "../../../sql/db.js";
import { findPickup, type Pickup } from "../../../sql/queries/pickups.js";
import { toCalendar } from "../../http/calendar.js";
import { found, ok, section } from "../../http/endpoint.js";

const titles: Record<Language, (partner: string) => string> = {
  ru: (partner) => `Забрать заказ: ${partner}`,
  en: (partner) => `Pick up your order: ${partner}`,
};

/** Presents the pickup of an order as a calendar; the pickup code is not in it, as calendars are shared. */
const present = ({ status, locale, partner, items, ...pickup }: Pickup): string =>
  toCalendar({
    ...pickup,
    cancelled: status === "CANCELLED",
    title: titles[languageOf(locale)](partner),
    description: (items ?? []).map(({ name, qty }) => `${qty} × ${name}`).join("\n"),
  });

export const pickups = section({ prefix: "/orders", tag: "Orders" });

pickups.get(
  "/:id/pickup.ics",
  {
    name: "readPickupCalendar",
    summary: "Read the pickup of your order as a calendar file",
    description:
      "For its customer; others get 404. The event is the pickup window, or the moment when an order without boxes is ready. " +
      "Importing the file again changes the same event, which is CANCELLED when the order is.",
    auth: "USER",
    mediaType: "text/calendar",
    answers: { 200: z.string() },
  },
  async ({ user, params }) =>
    ok(present(found(await findPickup(sql, params.id, user.id), "This order")), {
      "Content-Disposition": 'attachment; filename="pickup.ics"',
    }),
);
