import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { endpoints } from "../../api/app.js";
import type { Auth } from "../../api/auth.js";
import { signAccessToken } from "../../lib/tokens.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { startApi, type Client, type Reply } from "../support/api.js";
import * as cast from "../support/cast.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
  await database.connect();
});

afterAll(async () => {
  await api.stop();
  await database.end();
  await closeDatabase();
});

/** Everyone who might call; the bakery is the partner that the requests below are about, the customer has ordered from it. */
const callers = [
  "nobody",
  "forger",
  "boaster",
  "customer",
  "stranger",
  "bakery",
  "other partner",
  "pending partner",
  "rejected partner",
  "suspended partner",
  "admin",
] as const;
type CallerName = (typeof callers)[number];

const partners: CallerName[] = ["bakery", "other partner", "pending partner", "rejected partner", "suspended partner"];
const users: CallerName[] = ["boaster", "customer", "stranger", ...partners, "admin"];

const admitted: Record<Auth, readonly CallerName[]> = {
  ANYONE: callers,
  OPTIONAL_USER: ["nobody", ...users],
  USER: users,
  PARTNER: partners,
  ACTIVE_PARTNER: ["bakery", "other partner"],
  ADMIN: ["admin"],
};

interface Scene {
  callers: Record<CallerName, Client>;
  bakeryId: string;
  itemId: string;
  boxId: string;
  orderId: string;
  /** A partner that waits for review. */
  newcomerId: string;
}

async function setScene(): Promise<Scene> {
  const { client } = api;
  const [customer, stranger, boaster, admin] = [
    await cast.user(client),
    await cast.user(client),
    await cast.user(client),
    await cast.admin(client),
  ];
  const bakery = await cast.bakery(client);
  const itemId = await cast.addMenuItem(bakery, { price: 120 });
  const boxId = await cast.listBox(bakery);
  const order = await customer.client.post("/api/v1/orders", {
    items: [{ menuItemId: itemId, qty: 1 }],
    totalAmount: 120,
    partnerId: bakery.id,
  });
  const boast = { userId: boaster.id, scope: "USER PARTNER ADMIN", partnerId: bakery.id };
  const partner = async (status: "PENDING_REVIEW" | "ACTIVE" | "REJECTED" | "SUSPENDED") =>
    (await cast.bakery(client, status)).owner.client;
  return {
    callers: {
      nobody: client,
      forger: client.as("eyJhbGciOiJub25lIn0.e30."),
      boaster: client.as(await signAccessToken(boast)),
      customer: customer.client,
      stranger: stranger.client,
      bakery: bakery.owner.client,
      "other partner": await partner("ACTIVE"),
      "pending partner": await partner("PENDING_REVIEW"),
      "rejected partner": await partner("REJECTED"),
      "suspended partner": await partner("SUSPENDED"),
      admin: admin.client,
    },
    bakeryId: bakery.id,
    itemId,
    boxId,
    orderId: order.string("orderId"),
    newcomerId: (await cast.bakery(client, "PENDING_REVIEW")).id,
  };
}

interface Expectation {
  ask: (as: Client, scene: Scene) => Promise<Reply>;
  /** What a caller gets whom the endpoint admits. */
  answer: string;
  /** Those who are admitted and still get another answer. */
  except?: Partial<Record<CallerName, string>>;
}

const among = (names: readonly CallerName[], answer: string) => Object.fromEntries(names.map((name) => [name, answer]));
const foreign = (...own: CallerName[]) =>
  among(
    callers.filter((name) => !own.includes(name)),
    "404 NOT_FOUND",
  );

const expectations: Record<string, Expectation> = {
  "POST /api/v1/auth/otp/send": {
    ask: (as) => as.post("/api/v1/auth/otp/send", { phone: cast.newPhone() }),
    answer: "200",
  },
  "POST /api/v1/auth/otp/verify": {
    ask: (as) => as.post("/api/v1/auth/otp/verify", { phone: cast.newPhone(), code: "000000" }),
    answer: "400 INVALID_CODE",
  },
  "POST /api/v1/auth/token/refresh": {
    ask: (as) => as.post("/api/v1/auth/token/refresh", { refreshToken: "none" }),
    answer: "401 INVALID_REFRESH_TOKEN",
  },
  "POST /api/v1/auth/logout": {
    ask: (as) => as.post("/api/v1/auth/logout", { refreshToken: "none" }),
    answer: "400 INVALID_TOKEN",
  },
  "GET /api/v1/users/me": { ask: (as) => as.get("/api/v1/users/me"), answer: "200" },
  "PUT /api/v1/users/me": { ask: (as) => as.put("/api/v1/users/me", { firstName: "Анна" }), answer: "200" },
  "GET /api/v1/users/me/service-id": { ask: (as) => as.get("/api/v1/users/me/service-id"), answer: "200" },
  "GET /api/v1/notifications": { ask: (as) => as.get("/api/v1/notifications"), answer: "200" },
  "POST /api/v1/partners/register": {
    ask: (as) => as.post("/api/v1/partners/register", cast.bakeryProfile),
    answer: "201",
    except: among(partners, "409 CONFLICT"),
  },
  "GET /api/v1/partners/me": { ask: (as) => as.get("/api/v1/partners/me"), answer: "200" },
  "PUT /api/v1/partners/me": { ask: (as) => as.put("/api/v1/partners/me", { name: "Пекарня" }), answer: "200" },
  "GET /api/v1/partners/me/status": { ask: (as) => as.get("/api/v1/partners/me/status"), answer: "200" },
  "GET /api/v1/partners/:id": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/partners/${bakeryId}`),
    answer: "200",
  },
  "GET /api/v1/admin/partners": { ask: (as) => as.get("/api/v1/admin/partners"), answer: "200" },
  "PUT /api/v1/admin/partners/:id/approve": {
    ask: (as, { newcomerId }) => as.put(`/api/v1/admin/partners/${newcomerId}/approve`),
    answer: "200",
  },
  "PUT /api/v1/admin/partners/:id/reject": {
    ask: (as, { newcomerId }) => as.put(`/api/v1/admin/partners/${newcomerId}/reject`),
    answer: "200",
  },
  "PUT /api/v1/admin/partners/:id/suspend": {
    ask: (as, { newcomerId }) => as.put(`/api/v1/admin/partners/${newcomerId}/suspend`),
    answer: "200",
  },
  "GET /api/v1/menu/items": { ask: (as) => as.get("/api/v1/menu/items"), answer: "200" },
  "GET /api/v1/menu/categories": { ask: (as) => as.get("/api/v1/menu/categories"), answer: "200" },
  "POST /api/v1/menu/items": {
    ask: (as) => as.post("/api/v1/menu/items", { name: "Багет", category: "Хлеб", price: 1 }),
    answer: "201",
  },
  "PUT /api/v1/menu/items/:id": {
    ask: (as, { itemId }) => as.put(`/api/v1/menu/items/${itemId}`, { price: 1, category: "Чужое" }),
    answer: "200",
    except: foreign("bakery"),
  },
  "DELETE /api/v1/menu/items/:id": {
    ask: (as, { itemId }) => as.delete(`/api/v1/menu/items/${itemId}`),
    answer: "200",
    except: foreign("bakery"),
  },
  "POST /api/v1/boxes": { ask: (as) => as.post("/api/v1/boxes", cast.newBox()), answer: "201" },
  "GET /api/v1/boxes/:id": { ask: (as, { boxId }) => as.get(`/api/v1/boxes/${boxId}`), answer: "200" },
  "GET /api/v1/boxes/by-partner/:partnerId": {
    ask: (as, { bakeryId }) => as.get(`/api/v1/boxes/by-partner/${bakeryId}?all=true`),
    answer: "200",
  },
  "POST /api/v1/orders": {
    ask: (as, { bakeryId, boxId }) =>
      as.post("/api/v1/orders", { items: [{ boxId, qty: 1 }], totalAmount: 249.9, partnerId: bakeryId }),
    answer: "201",
  },
  "GET /api/v1/orders/:id": {
    ask: (as, { orderId }) => as.get(`/api/v1/orders/${orderId}`),
    answer: "200",
    except: foreign("customer", "bakery", "admin"),
  },
};

function expected(auth: Auth, { answer, except = {} }: Expectation, caller: CallerName): string {
  if (admitted[auth].includes(caller)) return except[caller] ?? answer;
  return caller === "nobody" || caller === "forger" ? "401 UNAUTHORIZED" : "403 FORBIDDEN";
}

const outcome = ({ status, body }: Reply) => `${status} ${typeof body["code"] === "string" ? body["code"] : ""}`.trim();

const database = new pg.Client({ connectionString: process.env["DATABASE_URL"] });

/** What is in the database, but for what counting requests and codes leaves there. */
async function contents(): Promise<unknown> {
  const tables = await database.query<{ name: string }>(`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
      and table_name not in ('rate_counters', 'otp', 'otp_send_counts')`);
  const read = tables.rows.map(
    ({ name }) => `select '${name}' as name, md5(string_agg(t::text, ',' order by t::text)) from ${name} t`,
  );
  return (await database.query(`${read.join(" union all ")} order by 1`)).rows;
}

const declared = endpoints.map(({ method, path, auth }) => ({ name: `${method.toUpperCase()} ${path}`, auth }));

test("every declared endpoint has its expectations here, and every expectation its endpoint", () => {
  expect(declared.map(({ name }) => name).sort()).toEqual(Object.keys(expectations).sort());
});

describe.each(declared)("$name is for $auth", ({ name, auth }) => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await setScene();
  });

  test.each(callers)("%s", async (caller) => {
    const expectation = expectations[name]!;
    const before = await contents();
    const reply = await expectation.ask(scene.callers[caller], scene);
    expect(outcome(reply)).toBe(expected(auth, expectation, caller));
    if (reply.status >= 400) expect(await contents()).toEqual(before);
  });
});

describe("a role counts from the moment it is given or taken, whatever the token says", () => {
  test("admins", async () => {
    const anna = await cast.user(api.client);
    const list = async () => outcome(await anna.client.get("/api/v1/admin/partners"));
    const set = (isAdmin: boolean) => sql`update users set is_admin = ${isAdmin} where id = ${anna.id}::uuid`;
    expect(await list()).toBe("403 FORBIDDEN");
    await set(true);
    expect(await list()).toBe("200");
    await set(false);
    expect(await list()).toBe("403 FORBIDDEN");
  });

  test("staff", async () => {
    const { id } = await cast.bakery(api.client);
    const clerk = await cast.user(api.client);
    const list = async () => outcome(await clerk.client.post("/api/v1/boxes", cast.newBox()));
    expect(await list()).toBe("403 FORBIDDEN");
    await sql`insert into partner_staff (user_id, partner_id) values (${clerk.id}::uuid, ${id}::uuid)`;
    expect(await list()).toBe("201");
    await sql`delete from partner_staff where user_id = ${clerk.id}::uuid`;
    expect(await list()).toBe("403 FORBIDDEN");
  });
});

test.each([
  "Bearer",
  "Bearer ",
  "bearer",
  "Basic YTpi",
  "Token x.y.z",
  "Bearer a b",
  "Bearer x.y.z, Bearer x.y.z",
  "Bearer ééé",
  `Bearer ${"x".repeat(10_000)}`,
])("Authorization: %.40s → 401 UNAUTHORIZED", async (authorization) => {
  const { client } = api;
  for (const path of ["/api/v1/users/me", "/api/v1/boxes/by-partner/01978d2e-5a6b-7c3d-8e9f-0a1b2c3d4e5f"]) {
    expect(outcome(await client.get(path, { headers: { authorization } }))).toBe("401 UNAUTHORIZED");
  }
});

test("the scheme may be written in any case", async () => {
  const { client, id } = await cast.user(api.client);
  for (const scheme of ["bearer", "BEARER"]) {
    const headers = { authorization: `${scheme} ${client.token ?? ""}` };
    expect((await api.client.get("/api/v1/users/me", { headers })).body["id"]).toBe(id);
  }
});
