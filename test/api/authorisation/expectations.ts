import { ads } from "./ads.js";
import { analytics } from "./analytics.js";
import { auth } from "./auth.js";
import { boxes } from "./boxes.js";
import { commissions } from "./commissions.js";
import { events } from "./events.js";
import { files } from "./files.js";
import { geo } from "./geo.js";
import { loyalty } from "./loyalty.js";
import { menu } from "./menu.js";
import { notifications } from "./notifications.js";
import { operations } from "./operations.js";
import { orders } from "./orders.js";
import { partners } from "./partners.js";
import { pos } from "./pos.js";
import { reviews } from "./reviews.js";
import { settlements } from "./settlements.js";
import { users } from "./users.js";
import type { Expectations } from "./scene.js";

/** What each endpoint answers to each caller, by section. */
export const expectations: Expectations = {
  ...ads,
  ...analytics,
  ...auth,
  ...boxes,
  ...commissions,
  ...events,
  ...files,
  ...geo,
  ...loyalty,
  ...menu,
  ...notifications,
  ...operations,
  ...orders,
  ...partners,
  ...pos,
  ...reviews,
  ...settlements,
  ...users,
};
