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
    description: "The user's profile, favourites, notification preferences, and deletion of the account.",
  },
  { name: "Partners", description: "Registration, review, profile, staff, and the cities they are in." },
  { name: "Menu", description: "A partner's items by category. Items are archived, never deleted." },
  {
    name: "Boxes",
    description: "Surplus food at a discount, to be picked up within a window: listing and finding boxes.",
  },
  { name: "Orders", description: "Placing an order, and its progress until it is picked up, cancelled or missed." },
  { name: "Reviews", description: "One per order; public at once, moderated by admins." },
  { name: "Loyalty and promo", description: "Points and levels, referrals, and discounts by code." },
  { name: "Geo", description: "Partners around a place." },
  { name: "Files", description: "Pictures and documents that users upload." },
  {
    name: "POS",
    description: "A partner's point of sale: its connection, and the events that it sends, such as orders taken there.",
  },
  {
    name: "Events",
    description: "The log of what has happened, for other systems: each event once, in an order that misses none.",
  },
  {
    name: "Notifications",
    description: "The user's inbox, and the devices that receive pushes.",
  },
  { name: "Advertising", description: "Campaigns, their banners, and the banners that apps show." },
  {
    name: "Commissions",
    description: "The platform's share of orders, in percent. A new rate applies to later orders.",
  },
  {
    name: "Settlements",
    description:
      "What partners and the platform owe each other: monthly statements and extracts for a partner's owner, balances, payments and corrections for admins.",
  },
  {
    name: "Analytics",
    description: "Figures of recent days, today included, in the deployment's time zone; as JSON or CSV.",
  },
  {
    name: "Operations",
    description: "What the jobs of the service do, why something was not sent, and what to do about it; for admins.",
  },
  { name: "Service keys", description: "Credentials for machines." },
] as const;

export type Tag = (typeof tags)[number]["name"];
