import { formatWait } from "../../lib/outbound/retry-after.js";
import { accessTokenSeconds } from "../../lib/security/tokens.js";

/** The sections of the interface, in the order in which the document shows them. */
export const tags = [
  {
    name: "Authentication",
    description: `A one-time code by SMS opens a session: an access token for ${formatWait(accessTokenSeconds)}, and a refresh token that is exchanged for new ones.`,
  },
  {
    name: "Users",
    description: "The own profile, favourites, how one wants to be notified, and leaving.",
  },
  { name: "Partners", description: "Registration, review, profile, staff, and the cities they are in." },
  { name: "Menu", description: "What a partner sells: items by category. Items are archived, never deleted." },
  {
    name: "Boxes",
    description: "Surplus food at a discount, to be picked up within a window: listing it, and finding it.",
  },
  { name: "Orders", description: "Placing an order, and its life until it is picked up, cancelled or missed." },
  { name: "Reviews", description: "One per order; public at once, moderated by admins." },
  { name: "Loyalty and promo", description: "Points and levels, referrals, and discounts by code." },
  { name: "Geo", description: "Partners around a place." },
  { name: "Files", description: "Pictures and documents that users upload." },
  {
    name: "POS",
    description:
      "A partner's point of sale: connecting it, pulling its menu, and what it tells us by itself, with the orders taken there.",
  },
  {
    name: "Notifications",
    description: "What one was told, and the devices that are told.",
  },
  { name: "Advertising", description: "Campaigns, their banners, and the banners that apps show." },
  { name: "Commissions", description: "What the platform takes of orders, in percent. Rates hold for later orders." },
  {
    name: "Analytics",
    description: "Figures of the last days, today among them, in the zone of the deployment; as JSON or as CSV.",
  },
  { name: "Service keys", description: "Credentials for machines." },
] as const;

export type Tag = (typeof tags)[number]["name"];
