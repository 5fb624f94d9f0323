import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { endpoints } from "../../api/app.js";
import { keyScopes, type Auth } from "../../api/http/auth.js";
import { adCounters } from "../../api/routes/ads/counters.js";
import { closeDatabase, sql } from "../../sql/db.js";
import { closeSignals } from "../../sql/signals.js";
import { outcome, startApi } from "../support/api.js";
import * as cast from "../support/cast.js";
import { expectations } from "./authorisation/expectations.js";
import {
  callers,
  everyPartner,
  setScene,
  everyUser,
  serviceKeys,
  type CallerName,
  type Expectation,
  type Scene,
} from "./authorisation/scene.js";

let api: Awaited<ReturnType<typeof startApi>>;

beforeAll(async () => {
  api = await startApi();
  await database.connect();
  statement = await fingerprints();
});

afterAll(async () => {
  await api.stop();
  await database.end();
  await closeSignals();
  await closeDatabase();
});

const admitted: Record<Auth, readonly CallerName[]> = {
  ANYONE: callers,
  OPTIONAL_USER: ["anonymous", ...everyUser],
  USER: everyUser,
  PARTNER: everyPartner,
  ACTIVE_PARTNER: ["bakery", "other partner"],
  ADMIN: ["admin"],
  PARTNER_OR_ADMIN: [...everyPartner, "admin"],
  BANNER_READER: ["anonymous", "banner key", ...everyUser],
  LOCATION_WRITER: ["admin", "location key"],
  OBSERVER: ["admin", "observer", "observer key"],
  EVENT_READER: [...everyPartner, "admin", "event key"],
  WEBHOOK_WRITER: [...everyPartner, "admin", "webhook key"],
};

const unknown = ["anonymous", "forged token", "former customer"];

function expected(auth: Auth, { answer, except = {} }: Expectation, caller: CallerName): string {
  if (admitted[auth].includes(caller)) return except[caller] ?? answer;
  // other endpoints do not accept service keys
  if (serviceKeys.includes(caller)) return auth in keyScopes ? "403 FORBIDDEN" : "401 UNAUTHORIZED";
  return unknown.includes(caller) ? "401 UNAUTHORIZED" : "403 FORBIDDEN";
}

const database = new pg.Client({ connectionString: process.env["DATABASE_URL"] });

/**
 * Reads the number of each table's rows, and the sum of the transactions that wrote them: a row that is written, even with the
 * values that it had, or deleted changes these. Counters that every request and code changes are left out. Prepared, as it runs
 * hundreds of times.
 */
async function fingerprints(): Promise<pg.QueryConfig> {
  const tables = await database.query<{ name: string }>(`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
      and table_name not in ('rate_counters', 'otp', 'action_counts')`);
  const read = tables.rows.map(
    ({ name }) => `select '${name}' as name, count(*), sum(xmin::text::bigint) from ${name}`,
  );
  return { name: "fingerprints", text: `${read.join(" union all ")} order by 1` };
}

let statement: pg.QueryConfig;

/** The fingerprints of all tables. Pending ad counts are written first. */
async function contents(): Promise<unknown> {
  await adCounters.flush();
  return (await database.query(statement)).rows;
}

const declared = endpoints.map(({ method, path, auth }) => ({ name: `${method.toUpperCase()} ${path}`, auth }));

test("every declared endpoint has an expectation, and every expectation an endpoint", () => {
  expect(declared.map(({ name }) => name).sort()).toEqual(Object.keys(expectations).sort());
});

/** For all endpoints that read, as they leave it as it is. */
let readScene: Promise<Scene> | undefined;

describe.each(declared.filter(({ name }) => name in expectations))("$name is for $auth", ({ name, auth }) => {
  let scene: Scene;
  let preparedId: string;
  /** The contents before the last refused calls, until one is carried out. */
  let known: unknown = null;
  const checkUnchanged = async () => {
    if (known !== null) expect(await contents()).toEqual(known);
    known = null;
  };
  beforeAll(async () => {
    scene = await (name.startsWith("GET ") ? (readScene ??= setScene(api.client)) : setScene(api.client));
    preparedId = (await expectations[name]!.prepare?.(scene)) ?? "";
  });

  test.each(callers)("%s", async (caller) => {
    const expectation = expectations[name]!;
    const promised = expected(auth, expectation, caller);
    const isRefused = Number(promised.slice(0, 3)) >= 400;
    if (isRefused) known ??= await contents();
    else await checkUnchanged();
    const reply = await expectation.ask(scene.callers[caller], scene, preparedId);
    expect(outcome(reply)).toBe(promised);
  });

  test("who is refused changes nothing", checkUnchanged);
});

describe("a role takes effect as soon as it is granted or revoked, whatever the token claims", () => {
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

test("the scheme is case-insensitive", async () => {
  const { client, id } = await cast.user(api.client);
  for (const scheme of ["bearer", "BEARER"]) {
    const headers = { authorization: `${scheme} ${client.token ?? ""}` };
    expect((await api.client.get("/api/v1/users/me", { headers })).body["id"]).toBe(id);
  }
});
