import { sql } from "../../../sql/db.js";
import { among, foreign, type Expectations, type Scene } from "./scene.js";

const own = "/api/v1/partners/me/statements";
const admins = "/api/v1/admin/settlements";

/** Makes a statement of the bakery for a month without any entry; returns its id. */
async function prepare({ bakeryId }: Scene): Promise<string> {
  const [known] = await sql<{ id: string }[]>`select id from statements where partner_id = ${bakeryId}::uuid`;
  if (known) return known.id;
  const [made] = await sql<{ id: string }[]>`
    with taken as (
      update ledger_state set last_number = last_number + 1 returning last_number
    )
    insert into statements (
      number, partner_id, partner_name, month, zone, from_at, until_at, currency, orders, sales_minor, till_minor,
      own_promo_minor, platform_promo_minor, commission_minor, earlier_minor, corrections_minor, payouts_minor, opening_minor,
      closing_minor
    )
    select last_number, ${bakeryId}::uuid, 'Bakery', '2026-01-01', 'UTC', '2026-01-01Z', '2026-02-01Z', 'RUB', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    from taken
    returning id`;
  return made!.id;
}
const ofBakery = { prepare, except: foreign("bakery") };

/** Books an entry in the current month, which a draft needs. */
async function prepareDraft({ bakeryId }: Scene): Promise<string> {
  await sql`
    select book_by_hand(${bakeryId}::uuid, 'ADJUSTMENTS', 'CORRECTION', 1, now(), 'Europe/Moscow', new_id()::text, null, null)`;
  return bakeryId;
}

const days = { firstDay: "2026-01-05", lastDay: "2026-01-20" };
const payment = {
  amount: 10,
  paidBy: "PARTNER",
  paidAt: "2026-01-05T09:00:00Z",
  reference: "payment",
};
const correction = { amount: 10, inFavourOf: "PARTNER", reference: "correction", reason: "A customer paid twice." };

export const settlements: Expectations = {
  [`GET ${own}`]: { ask: (as) => as.get(own), answer: "200" },
  [`POST ${own}`]: {
    ask: (as) => as.post(own, days),
    answer: "201",
    except: among(["pending partner", "rejected partner"], "404 NOT_FOUND"),
  },
  [`GET ${own}/:id`]: { ...ofBakery, ask: (as, _scene, id) => as.get(`${own}/${id}`), answer: "200" },
  [`GET ${own}/:id/lines`]: { ...ofBakery, ask: (as, _scene, id) => as.get(`${own}/${id}/lines`), answer: "200" },
  [`GET ${admins}`]: { ask: (as) => as.get(admins), answer: "200" },
  [`GET ${admins}/statements`]: { ask: (as) => as.get(`${admins}/statements?month=2026-01`), answer: "200" },
  [`GET ${admins}/entries`]: { ask: (as) => as.get(`${admins}/entries`), answer: "200" },
  [`GET ${admins}/:partnerId/draft`]: {
    prepare: prepareDraft,
    ask: (as, { bakeryId }) => as.get(`${admins}/${bakeryId}/draft`),
    answer: "200",
  },
  [`GET ${admins}/:partnerId/statements`]: {
    ask: (as, { bakeryId }) => as.get(`${admins}/${bakeryId}/statements`),
    answer: "200",
  },
  [`POST ${admins}/:partnerId/extracts`]: {
    ask: (as, { bakeryId }) => as.post(`${admins}/${bakeryId}/extracts`, { ...days, lastDay: "2026-01-21" }),
    answer: "201",
  },
  [`POST ${admins}/:partnerId/payouts`]: {
    ask: (as, { bakeryId }) => as.post(`${admins}/${bakeryId}/payouts`, payment),
    answer: "201",
  },
  [`POST ${admins}/:partnerId/corrections`]: {
    ask: (as, { bakeryId }) => as.post(`${admins}/${bakeryId}/corrections`, correction),
    answer: "201",
  },
};
