import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { closeDatabase, sql } from "../../../../sql/db.js";
import { runUpkeep } from "../../../../workers/upkeep.js";
import { startApi, type Reply } from "../../../support/api.js";
import * as cast from "../../../support/cast.js";
import { task } from "../../../support/task.js";
import { sized } from "../../../support/size.js";

let api: Awaited<ReturnType<typeof startApi>>;
let admin: cast.Character;
let bakery: cast.Bakery;

beforeAll(async () => {
  api = await startApi();
  admin = await cast.admin(api.client);
  bakery = await cast.bakery(api.client);
});

afterAll(async () => {
  await api.stop();
  await closeDatabase();
});

const QUANTITY = 6;
const MAX_USES = 3;
const PRICE = 100;

/** One action of one actor; orders are named by the number of their step. */
const action = fc.oneof(
  fc.record({
    does: fc.constant("order"),
    who: fc.nat(2),
    qty: fc.integer({ min: 1, max: 3 }),
    promo: fc.boolean(),
  } as const),
  fc.record({ does: fc.constant("cancel"), which: fc.nat(9) } as const),
  fc.record({
    does: fc.constant("move"),
    which: fc.nat(9),
    to: fc.constantFrom("READY", "COMPLETED", "CANCELLED"),
  } as const),
  fc.record({ does: fc.constant("forget"), which: fc.nat(9) } as const),
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

type Status = "ACCEPTED" | "READY" | "COMPLETED" | "CANCELLED" | "NO_SHOW";

/** The allowed moves, written down independently of the code. */
const next: Record<Status, readonly Status[]> = {
  ACCEPTED: ["READY", "COMPLETED", "CANCELLED", "NO_SHOW"],
  READY: ["COMPLETED", "CANCELLED", "NO_SHOW"],
  COMPLETED: [],
  CANCELLED: [],
  NO_SHOW: [],
};

interface Placed {
  id: string;
  who: number;
  qty: number;
  discounted: boolean;
  status: Status;
}

class Stage {
  readonly orders: Placed[] = [];
  constructor(
    readonly customers: readonly cast.Character[],
    readonly boxId: string,
    readonly promoCode: string,
  ) {}

  static async set(): Promise<Stage> {
    const customers = await Promise.all([0, 1, 2].map(() => cast.user(api.client)));
    const hour = 3_600_000;
    const boxId = await cast.listBox(bakery, {
      price: PRICE,
      quantity: QUANTITY,
      weightGrams: 500,
      pickupWindowStart: new Date(Date.now() + 5 * hour).toISOString(),
      pickupWindowEnd: new Date(Date.now() + 6 * hour).toISOString(),
    });
    const terms = { code: randomUUID().slice(0, 13), discountCents: 1_000, maxUses: MAX_USES, maxUsesPerUser: 2 };
    const promo = await admin.client.post("/api/v1/admin/promo/create", terms);
    return new Stage(customers, boxId, promo.string("code"));
  }

  /** Sends the request; null when the order it needs does not exist. */
  async perform(step: Action): Promise<Reply | null> {
    if (step.does === "order") {
      return this.customers[step.who]!.client.post("/api/v1/orders", {
        items: [{ boxId: this.boxId, qty: step.qty }],
        totalAmount: PRICE * step.qty,
        partnerId: bakery.id,
        ...(step.promo && { promoCode: this.promoCode }),
      });
    }
    const placed = this.orders[step.which];
    if (!placed) return null;
    if (step.does === "cancel") return this.customers[placed.who]!.client.post(`/api/v1/orders/${placed.id}/cancel`);
    if (step.does === "move") return bakery.owner.client.put(`/api/v1/orders/${placed.id}/status`, { status: step.to });
    await sql`update orders set no_show_at = now() where id = ${placed.id}::uuid`;
    await runUpkeep(task({ task: "no-shows" }));
    return null;
  }

  get taken() {
    const kept = this.orders.filter(({ status }) => status !== "CANCELLED");
    return {
      boxes: kept.reduce((sum, { qty }) => sum + qty, 0),
      uses: kept.filter(({ discounted }) => discounted).length,
      usesBy: (who: number) => kept.filter((order) => order.discounted && order.who === who).length,
    };
  }

  /** The status and code that the model expects for the step; updates the model. */
  predict(step: Action): string | null {
    if (step.does === "order") {
      const own = this.orders.filter(({ who }) => who === step.who);
      const isOpen = own.some(({ status }) => status === "ACCEPTED" || status === "READY");
      if (isOpen && own.filter(({ status }) => status === "NO_SHOW").length >= 3) return "409 CONFLICT";
      if (this.taken.boxes + step.qty > QUANTITY) return "409 CONFLICT";
      if (step.promo && (this.taken.uses >= MAX_USES || this.taken.usesBy(step.who) >= 2)) return "400 INVALID_PROMO";
      this.orders.push({ id: "", who: step.who, qty: step.qty, discounted: step.promo, status: "ACCEPTED" });
      return "201";
    }
    const placed = this.orders[step.which];
    if (!placed) return null;
    const to: Status = step.does === "cancel" ? "CANCELLED" : step.does === "move" ? step.to : "NO_SHOW";
    const allowed = next[placed.status].includes(to);
    const same = placed.status === to;
    if (allowed) placed.status = to;
    if (step.does === "forget") return null;
    return allowed || same ? "200" : "409 CONFLICT";
  }

  /** The invariants that hold after any sequence. */
  async audit(): Promise<void> {
    const [books] = await sql<Record<string, number>[]>`
      select b.quantity_available as available, b.quantity_reserved as reserved,
             (
               select coalesce(sum(i.qty), 0)::integer from order_items i
               join orders o on o.id = i.order_id and o.status <> 'CANCELLED'
               where i.box_id = b.id
             ) as sold,
             p.uses,
             (select count(*)::integer from promo_redemptions r where r.promo_id = p.id and r.returned_at is null) as redeemed,
             (
               select count(*)::integer from promo_redemptions r
               join orders o on o.id = r.order_id
               where r.promo_id = p.id and (r.returned_at is null) <> (o.status <> 'CANCELLED')
             ) as wrongly_kept
      from boxes b, promo_codes p
      where b.id = ${this.boxId}::uuid and p.code = ${this.promoCode}`;
    const { available, reserved, sold, uses, redeemed, wronglyKept } = books!;
    expect(available! + reserved!).toBe(QUANTITY);
    expect([reserved, uses, wronglyKept]).toEqual([sold, redeemed, 0]);
    expect(uses).toBeLessThanOrEqual(MAX_USES);
    for (const { id } of this.customers) {
      const [ledger] = await sql<Record<string, number>[]>`
        select coalesce(sum(e.points), 0)::integer as points, coalesce(sum(e.grams), 0)::integer as grams,
               (
                 select coalesce(sum(o.amount_due_minor / 1000), 0)::integer from orders o
                 where o.user_id = ${id}::uuid and o.status = 'COMPLETED'
               ) as earned,
               coalesce((select a.points from loyalty_accounts a where a.user_id = ${id}::uuid), 0) as score,
               coalesce((select a.food_saved_grams from loyalty_accounts a where a.user_id = ${id}::uuid), 0)::integer as saved
        from loyalty_entries e
        where e.user_id = ${id}::uuid`;
      expect([ledger!["points"], ledger!["score"]]).toEqual([ledger!["earned"], ledger!["earned"]]);
      expect(ledger!["saved"]).toBe(ledger!["grams"]);
    }
    const broken = await sql`
      select e.order_id
      from order_events e
      join orders o on o.id = e.order_id
      where o.partner_id = ${bakery.id}::uuid
      group by e.order_id, o.status
      having (array_agg(e.to_status order by e.position desc))[1] <> o.status
          or (array_agg(e.to_status order by e.position))[:count(*)::integer - 1]
             is distinct from (array_agg(e.from_status order by e.position))[2:]`;
    expect(broken).toEqual([]);
  }
}

const outcome = (reply: Reply | null) =>
  reply && (reply.status < 400 ? String(reply.status) : `${reply.status} ${String(reply.body["code"])}`);

test("in sequence every answer and every status is as the model expects", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (steps) => {
      const stage = await Stage.set();
      for (const step of steps) {
        const reply = await stage.perform(step);
        expect([step, outcome(reply)]).toEqual([step, stage.predict(step)]);
        if (reply?.status === 201) stage.orders.at(-1)!.id = reply.string("orderId");
      }
      for (const { id, who, status } of stage.orders) {
        const read = await stage.customers[who]!.client.get(`/api/v1/orders/${id}`);
        expect(read.body["status"]).toBe(status);
      }
      await stage.audit();
    }),
    { numRuns: sized(60, 15) },
  );
});

test("concurrently nothing is lost, sold twice or moved in a way that is not allowed", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(action, { minLength: 4, maxLength: 12 }), { minLength: 2, maxLength: 4 }),
      async (rounds) => {
        const stage = await Stage.set();
        for (const steps of rounds) {
          const replies = await Promise.all(steps.map((step) => stage.perform(step)));
          replies.forEach((reply, n) => {
            const step = steps[n]!;
            if (reply) expect(["200", "201", "409 CONFLICT", "400 INVALID_PROMO"]).toContain(outcome(reply));
            if (step.does !== "order" || reply?.status !== 201) return;
            stage.orders.push({ ...step, discounted: step.promo, id: reply.string("orderId"), status: "ACCEPTED" });
          });
          await stage.audit();
        }
      },
    ),
    { numRuns: sized(60, 15) },
  );
});
