import { createHash, randomUUID } from "node:crypto";
import { deliver, ok, refusal, startVendor, type SignedCall, type StandInItem } from "./vendor.js";

const failure = (code: number, message: string) => ok({ error: { code, message } });

export type PosterProduct = Record<string, unknown>;

/** A product as `menu.getProducts` returns it, sold at spots 1 and 2; `price` is in kopecks. */
export const product = (id: string, name: string, price: number, fields: PosterProduct = {}): PosterProduct => ({
  product_id: id,
  product_name: name,
  menu_category_id: "2",
  category_name: "Bread",
  hidden: "0",
  type: "3",
  photo: null,
  price: { "1": String(price), "2": String(price) },
  spots: [
    { spot_id: "1", price: String(price), visible: "1" },
    { spot_id: "2", price: String(price), visible: "1" },
  ],
  ...fields,
});

/** Poster's server: menu, locations, webhooks. */
export async function startPoster() {
  const account = `cafe${randomUUID().slice(0, 6)}`;
  const token = `687409:${randomUUID().replaceAll("-", "")}`;
  const secret = randomUUID().replaceAll("-", "");
  let products: PosterProduct[] = [];
  let categories: Record<string, unknown>[] = [];

  const vendor = await startVendor(({ method, path, query }) => {
    const name = new URL(path, "http://poster").pathname.replace("/api/", "");
    if (!query.has("token")) return failure(10, "Access token not found");
    if (query.get("token") !== token) return failure(11, "Bad access token");
    if (method !== "GET") return refusal(405);
    if (name === "menu.getCategories") return ok({ response: categories });
    if (name === "access.getSpots")
      return ok({
        response: [
          { spot_id: "1", spot_name: "First" },
          { spot_id: "2", spot_name: "Second" },
        ],
      });
    if (name === "menu.getProducts") {
      const kind = query.get("type");
      return ok({
        response: products.filter(({ type }) => kind === null || (kind === "batchtickets") === (type === "2")),
      });
    }
    return failure(30, "Unknown method");
  });

  const event = (fields: Record<string, unknown> = {}) => ({
    account,
    account_number: "687409",
    object: "product",
    object_id: 139,
    action: "changed",
    time: String(Math.floor(Date.now() / 1_000)),
    ...fields,
  });

  /** Signs an event as Poster does, in the body. */
  const sign = (sent: Record<string, unknown> = event(), key = secret): SignedCall => {
    const { account, object, object_id, action, data, time } = sent;
    const signed = [account, object, object_id, action, ...(data === undefined ? [] : [data]), time, key].join(";");
    const verify = createHash("md5").update(signed).digest("hex");
    return { headers: { "content-type": "application/json" }, body: JSON.stringify({ ...sent, verify }) };
  };

  return {
    ...vendor,
    account,
    secret,
    token,
    credentials: { account, token },
    event,
    sign,
    /** The event that requests a menu sync. */
    send: (to: string, sent: Record<string, unknown> = event()) => deliver(to, sign(sent)),
    /** Sets the menu. */
    setMenu(next: PosterProduct[], of: Record<string, unknown>[] = []): void {
      products = next;
      categories = of;
    },
    serve(items: readonly StandInItem[]): void {
      const names = [...new Set(items.map(({ category }) => category))];
      categories = names.map((name, index) => ({
        category_id: String(index + 1),
        category_name: name,
        category_hidden: "0",
        parent_category: "0",
      }));
      products = items.map(({ id, name, category, price, available = true }) =>
        product(id, name, price, {
          menu_category_id: String(names.indexOf(category) + 1),
          category_name: category,
          hidden: available ? "0" : "1",
        }),
      );
    },
  };
}
