import { createHmac, randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import sharp from "sharp";
import { Pool } from "undici";
import { z } from "zod";
import { authorizationOf, CLIENTS } from "../http.js";
import { PRICE, type Marketplace } from "../marketplace.js";
import type { Meter } from "./costs.js";

const CHECK_MS = 50;
/** Followers of each followed bakery; the others have none. */
export const FOLLOWERS = 1_000;

type Headers = Record<string, string>;
interface Order {
  id: string;
  customer: Headers;
  owner: Headers;
}

interface Bakery {
  id: string;
  owner: Headers;
  followed: boolean;
}

/** Everyone gets a browser at the push service, and customers follow half of the bakeries; every menu comes from a POS. */
const CONNECT = `
  with key as (select $1::text as service, $2::text as p256dh, $3::text as auth)
  update devices d
  set platform = 'web', address = service || '/send/' || d.id, p256dh = key.p256dh, auth = key.auth,
      address_digest = sha256(convert_to(service || '/send/' || d.id, 'UTF8'))
  from key`;
const FOLLOW = `
  with willing as (update notification_preferences set marketing = true returning user_id)
  insert into favorites (user_id, partner_id)
  select u.id, p.id from users u cross join partners p where u.first_name = 'Иван' and right(p.slug, 1) in ('0', '1', '2', '3', '4')`;
const FROM_POS = "update menu_items set source = 'POS', external_id = 'bread-' || right(name, 1)";

const PHOTOGRAPH = { width: 4_000, height: 3_000 };
const boundary = "bench";

const json = (headers: Headers): Headers => ({ ...headers, "content-type": "application/json" });

/** Orders, reads and uploads over HTTP, as `CLIENTS` clients, and waits for the jobs that they cause. */
export class Shop {
  private readonly pool: Pool;
  private turn = 0;
  private readonly customers: Headers[] = [];
  private readonly bakeries = new Map<string, Bakery>();
  private photograph = Buffer.alloc(0);
  private webhookSecret = "";

  constructor(
    apiUrl: string,
    private readonly meter: Meter,
    private readonly marketplace: Marketplace,
  ) {
    this.pool = new Pool(apiUrl, { connections: CLIENTS });
  }

  /** Makes what the operations need: devices at a push service, followers, tokens, a photograph, and a POS of each bakery. */
  async open(pushService: string): Promise<void> {
    const { newSubscription } = await import("../programs/recipients.js");
    const { keys } = newSubscription(pushService);
    await this.meter.ask(CONNECT, [pushService, keys.p256dh, keys.auth]);
    await this.meter.ask(FOLLOW);
    await this.meter.ask(FROM_POS);
    for (const userId of this.marketplace.userIds) this.customers.push(await authorizationOf(userId));
    const bakeries = await this.meter.ask<{ id: string; owner: string; followed: boolean }>(
      "select id, owner_id as owner, id in (select partner_id from favorites) as followed from partners",
    );
    for (const { owner, ...bakery } of bakeries)
      this.bakeries.set(bakery.id, { ...bakery, owner: await authorizationOf(owner) });
    const noise = { type: "gaussian" as const, mean: 128, sigma: 40 };
    this.photograph = await sharp({ create: { ...PHOTOGRAPH, channels: 3, background: "#000000", noise } })
      .blur(3)
      .jpeg({ quality: 90 })
      .toBuffer();
    await this.connectPos();
    await this.meter.ask("vacuum analyze");
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  private async connectPos(): Promise<void> {
    // these modules read the configuration on import, so the lab must have set it
    const { encryptEnvelope } = await import("../../../lib/security/envelope.js");
    const { posCredentialsContext } = await import("../../../sql/queries/pos-credentials.js");
    this.webhookSecret = `whsec_${randomBytes(24).toString("base64")}`;
    const ids = [...this.bakeries.keys()];
    const encrypted = ids.map((accountId) =>
      encryptEnvelope(
        JSON.stringify({ accountId, baseUrl: "https://pos.bench.test", token: "t", webhookSecret: this.webhookSecret }),
        posCredentialsContext(accountId),
      ),
    );
    await this.meter.ask(
      `insert into pos_credentials (partner_id, adapter, account, encrypted, next_sync_at)
       select id, 'generic', id, encrypted, now() + interval '1 day' from unnest($1::uuid[], $2::text[]) as made (id, encrypted)`,
      [ids, encrypted],
    );
  }

  private async call(
    method: "GET" | "POST" | "PUT",
    path: string,
    headers: Headers,
    body?: string | Buffer,
  ): Promise<unknown> {
    const response = await this.pool.request({ method, path, headers, body: body ?? null });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  /** Does `work` for each item, for as many at once as there are clients. */
  private async each<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
    const results: Result[] = [];
    const waiting = items.values();
    const client = async () => {
      for (const item of waiting) results.push(await work(item));
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return results;
  }

  private turns(count: number): number[] {
    const first = this.turn;
    this.turn += count;
    return Array.from({ length: count }, (_, n) => first + n);
  }

  private customer(n: number): Headers {
    return this.customers[n % this.customers.length] ?? {};
  }

  private bakery(n: number, among = [...this.bakeries.values()]): Bakery {
    return among[n % among.length] ?? { id: "", owner: {}, followed: false };
  }

  private box(n: number) {
    // 7 and 500 have no common divisor
    return this.marketplace.boxes[(n * 7) % this.marketplace.boxes.length] ?? { id: "", partnerId: "" };
  }

  /** Waits until every job that is due is done, and every notification sent; throws when one fails. */
  async settle(): Promise<void> {
    for (;;) {
      const [left] = await this.meter.ask<{ open: boolean; failed: string | null }>(
        `select exists (select from staged_jobs where done_at is null and dead_at is null and run_at <= now())
                  or exists (select from notifications where status in ('QUEUED', 'DEFERRED')) as open,
                coalesce(
                  (select 'a notification is ' || status || ': ' || reason from notifications where status in ('FAILED', 'DROPPED') limit 1),
                  (select 'a job failed: ' || last_error from staged_jobs where dead_at is not null limit 1)
                ) as failed`,
      );
      if (typeof left?.failed === "string") throw new Error(left.failed);
      if (left?.open !== true) return;
      await delay(CHECK_MS);
    }
  }

  place(count: number): Promise<Order[]> {
    return this.each(this.turns(count), async (n) => {
      const { id, partnerId } = this.box(n);
      const customer = this.customer(n);
      const order = {
        items: [{ menuItemId: id, qty: 1 }],
        totalAmount: PRICE,
        partnerId,
        address: "Тверская улица, 1",
      };
      const headers = json({ ...customer, "idempotency-key": `capacity-${n}` });
      const { orderId } = z
        .object({ orderId: z.uuid() })
        .parse(await this.call("POST", "/api/v1/orders", headers, JSON.stringify(order)));
      return { id: orderId, customer, owner: this.bakeries.get(partnerId)?.owner ?? {} };
    });
  }

  /** Makes the reminders of all orders due, as before their pickup windows. */
  async remind(): Promise<void> {
    await this.meter.ask(
      `update staged_jobs set run_at = now(), next_send_at = now()
       where queue = 'fan-out' and done_at is null and dead_at is null and run_at > now()`,
    );
  }

  move(orders: readonly Order[], status: "READY" | "COMPLETED"): Promise<unknown> {
    return this.each(orders, ({ id, owner }) =>
      this.call("PUT", `/api/v1/orders/${id}/status`, json(owner), JSON.stringify({ status })),
    );
  }

  review(orders: readonly Order[]): Promise<unknown> {
    return this.each(orders, ({ id: orderId, customer }) =>
      this.call(
        "POST",
        "/api/v1/reviews",
        json(customer),
        JSON.stringify({ orderId, rating: 5, text: "Вкусно, спасибо!" }),
      ),
    );
  }

  readBoxes(count: number): Promise<unknown> {
    return this.each(this.turns(count), (n) => this.call("GET", `/api/v1/boxes/${this.box(n).id}`, {}));
  }

  listBoxes(count: number): Promise<unknown> {
    return this.each(this.turns(count), () => this.call("GET", "/api/v1/boxes?cityId=bench&limit=20", {}));
  }

  searchNearby(count: number): Promise<unknown> {
    return this.each(this.turns(count), (n) =>
      this.call(
        "GET",
        `/api/v1/geo/partners/nearby?lat=${55.7 + (n % 500) / 10_000}&lng=37.6&radius=10000&limit=20`,
        {},
      ),
    );
  }

  readOrders(count: number): Promise<unknown> {
    return this.each(this.turns(count), (n) => this.call("GET", "/api/v1/orders?limit=20", this.customer(n)));
  }

  upload(count: number): Promise<unknown> {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="p.jpg"\r\nContent-Type: image/jpeg\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(head), this.photograph, Buffer.from(`\r\n--${boundary}--\r\n`)]);
    const type = { "content-type": `multipart/form-data; boundary=${boundary}` };
    return this.each(this.turns(count), (n) =>
      this.call("POST", "/api/v1/files/upload", { ...this.customer(n), ...type }, body),
    );
  }

  /** Orders at the counter, which tills report. */
  reportSales(count: number): Promise<unknown> {
    const key = Buffer.from(this.webhookSecret.slice("whsec_".length), "base64");
    return this.each(this.turns(count), (n) => {
      const timestamp = String(Math.floor(Date.now() / 1_000));
      const body = JSON.stringify({
        type: "order.created",
        externalId: `sale-${n}`,
        partnerExternalId: this.bakery(n).id,
        data: { items: [{ externalId: "bread-1", qty: 1 }], totalAmount: 120 },
      });
      const signature = createHmac("sha256", key).update(`sale-${n}.${timestamp}.${body}`).digest("base64");
      const headers = {
        "webhook-id": `sale-${n}`,
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${signature}`,
      };
      return this.call("POST", "/api/v1/pos/webhooks/generic", json(headers), body);
    });
  }

  /** Lists boxes, each of another bakery: of followed ones, so that `FOLLOWERS` followers are notified, or of the others. */
  listNew(count: number, followed: boolean): Promise<unknown> {
    const among = [...this.bakeries.values()].filter((bakery) => bakery.followed === followed);
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    return this.each(this.turns(count), (n) =>
      this.call(
        "POST",
        "/api/v1/boxes",
        json(this.bakery(n, among).owner),
        JSON.stringify({
          title: "Вечерний набор",
          price: PRICE,
          quantity: 5,
          pickupWindowStart: at(24),
          pickupWindowEnd: at(25),
        }),
      ),
    );
  }
}
