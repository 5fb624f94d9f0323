import { afterAll, beforeAll, expect, test } from "@jest/globals";

const code = "123456";
process.env["OTP_FIXED_CODE"] = code;
process.env["PUBLIC_URL"] = "https://food.example";

const { openQueue, openQueues, closeBroker } = await import("../../../queues/broker.js");
const { contracts, push } = await import("../../../queues/index.js");
const { closeDatabase, sql } = await import("../../../sql/db.js");
const { closeSignals } = await import("../../../sql/signals.js");
const { startApi } = await import("../../support/api.js");
const { admin, newPhone, user } = await import("../../support/cast.js");

const { client, stop } = await startApi();
const board = `${client.url}/admin/queues`;

interface Sent {
  method?: string;
  cookie?: string;
  /** The request's Origin; by default the dashboard's own. */
  headers?: Record<string, string>;
  form?: Record<string, string>;
}

const send = (path: string, { method = "GET", cookie, headers = { origin: client.url }, form }: Sent = {}) =>
  fetch(board + path, {
    method,
    redirect: "manual",
    headers: { ...headers, ...(cookie !== undefined && { cookie: `queues=${cookie}` }) },
    ...(form && { body: new URLSearchParams(form) }),
  });

const askForCode = (phone: string) => send("/sign-in", { method: "POST", form: { phone } });
const enterCode = (phone: string, code: string) => send("/sign-in/code", { method: "POST", form: { phone, code } });

/** The part of a Set-Cookie header that the browser sends back. */
const cookieOf = (answer: Response) => /^queues=([\w-]+);/.exec(answer.headers.get("set-cookie") ?? "")?.[1];

async function signIn(phone: string): Promise<string> {
  await askForCode(phone);
  const cookie = cookieOf(await enterCode(phone, code));
  if (cookie === undefined) throw new Error("there is no cookie");
  return cookie;
}

const page = async (answer: Response) => ({ status: answer.status, text: await answer.text() });
const signInPage = { status: 303, location: "/admin/queues/sign-in" };
const redirect = (answer: Response) => ({ status: answer.status, location: answer.headers.get("location") });
const problem = async (answer: Response): Promise<unknown> => answer.json();
const auditOf = (actorId: string) =>
  sql<{ action: string; details: unknown }[]>`
    select action, details from audit_events where actor_id = ${actorId}::uuid order by id`;

beforeAll(() => openQueue(push).waitUntilReady());
afterAll(async () => {
  await stop();
  await Promise.all([closeBroker(), closeSignals()]);
  await closeDatabase();
});

test("without a session pages redirect to the sign-in and everything else is refused", async () => {
  for (const path of ["", "/", "/queue/push", "/queue/push/1.0", "/job-schedulers", "/sign-out", "/nowhere"]) {
    expect(redirect(await send(path))).toEqual(signInPage);
  }
  for (const path of ["/api/queues", "/api/queues/push/1.0", "/api/redis/stats", "/static/images/logo.svg"]) {
    const answer = await send(path);
    expect(answer.status).toBe(401);
    expect(await problem(answer)).toMatchObject({ code: "UNAUTHORIZED" });
  }
  const write = await send("/api/queues/push/clean/failed", { method: "PUT" });
  expect(write.status).toBe(401);
});

test("an API token is not a session, and a session is not an API token", async () => {
  const { phone, client: caller } = await admin(client);
  for (const token of [caller.token ?? "", "", "x", "%00"]) {
    expect((await send("/api/queues", { cookie: token })).status).toBe(401);
    expect((await send("/api/queues", { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
  }
  await client.post("/api/v1/auth/otp/send", { phone });
  const tokens = await client.post("/api/v1/auth/otp/verify", { phone, code });
  expect((await send("/api/queues", { cookie: tokens.string("refreshToken") })).status).toBe(401);
  expect((await send("/api/queues", { cookie: tokens.string("accessToken") })).status).toBe(401);

  const cookie = await signIn(phone);
  expect((await client.as(cookie).get("/api/v1/users/me")).status).toBe(401);
  for (const refreshToken of [cookie, `/admin/queues ${cookie}`, `queues=${cookie}`])
    expect((await client.post("/api/v1/auth/token/refresh", { refreshToken })).status).toBe(401);
  expect((await client.post("/api/v1/auth/logout", { refreshToken: cookie })).status).toBe(400);
  expect((await send("/api/queues", { cookie })).status).toBe(200);
});

test("only a correct code reveals whether a phone is an admin's", async () => {
  const [boss, customer, stranger] = [(await admin(client)).phone, (await user(client)).phone, newPhone()];
  const pages = await Promise.all(
    [boss, customer, stranger].map(async (phone) => {
      const asked = await page(await askForCode(phone));
      const wrong = await page(await enterCode(phone, "000000"));
      return JSON.stringify({ asked, wrong }).replaceAll(phone, "the phone");
    }),
  );
  expect(new Set(pages).size).toBe(1);
  expect(pages[0]).toContain("wrong or no longer valid");

  for (const phone of [customer, stranger]) {
    const answer = await enterCode(phone, code);
    expect(answer.headers.get("set-cookie")).toBeNull();
    expect(await page(answer)).toEqual({ status: 403, text: expect.stringContaining("not an admin&#39;s") });
  }
  const left = await sql`
    select from sessions join users on users.id = user_id where phone in (${customer}, ${stranger}) and revoked_at is null`;
  expect(left).toHaveLength(0);
});

test("the sign-in page explains each error", async () => {
  const { phone } = await admin(client);
  expect(await page(await askForCode("<b>12</b>"))).toEqual({
    status: 400,
    text: expect.stringContaining("A phone is +7 followed by 10 digits."),
  });
  expect((await send("/sign-in", { method: "POST" })).status).toBe(400);
  expect((await enterCode(phone, code)).status).toBe(400);
  for (const written of [
    phone,
    ` ${phone.slice(0, 2)} (${phone.slice(2, 5)}) ${phone.slice(5, 8)}-${phone.slice(8)}`,
  ]) {
    expect(await page(await askForCode(written))).toEqual({ status: 200, text: expect.stringContaining(phone) });
  }
  await sql`update otp set expires_at = now() where phone = ${phone}`;
  expect(await page(await enterCode(phone, code))).toEqual({
    status: 401,
    text: expect.stringContaining("has expired"),
  });
  await askForCode(phone);
  expect(await page(await askForCode(phone))).toEqual({
    status: 429,
    text: expect.stringMatching(/Too many codes were sent; try again in [45] minutes\./),
  });
});

test("an admin's session is a short-lived cookie that scripts and other sites cannot use", async () => {
  const { phone } = await admin(client);
  await askForCode(phone);
  const answer = await enterCode(phone, code);
  expect(redirect(answer)).toEqual({ status: 303, location: "/admin/queues" });
  const [, ...attributes] = (answer.headers.get("set-cookie") ?? "").split("; ");
  expect(attributes).toEqual(
    expect.arrayContaining(["Max-Age=1800", "Path=/admin", "HttpOnly", "Secure", "SameSite=Strict"]),
  );
  const cookie = cookieOf(answer) ?? "";
  expect(redirect(await send("/sign-in", { cookie }))).toEqual({ status: 303, location: "/admin/queues" });
  await sql`
    update sessions set created_at = now() - interval '31 minutes'
    where user_id = (select id from users where phone = ${phone})`;
  expect((await send("/api/queues", { cookie })).status).toBe(401);
});

test("an admin sees every queue, on pages that load nothing from other hosts and are not cached", async () => {
  const cookie = await signIn((await admin(client)).phone);
  const home = await send("/", { cookie });
  const html = await home.text();
  expect(home.status).toBe(200);
  expect(html).toContain('<base href="/admin/queues/" />');
  expect(html).not.toMatch(/https?:/);
  for (const answer of [home, await send("/api/queues", { cookie }), await send("/sign-in")]) {
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
    expect(answer.headers.get("x-powered-by")).toBeNull();
    expect(answer.headers.get("content-security-policy")).toMatch(/default-src 'self'.*frame-ancestors 'none'/);
  }
  const listed = await problem(await send("/api/queues", { cookie }));
  expect(listed).toMatchObject({
    queues: expect.arrayContaining(contracts.map(({ queue }) => expect.objectContaining({ name: queue }))),
  });
});

test("a revoked admin role ends access at once", async () => {
  const { id, phone } = await admin(client);
  const cookie = await signIn(phone);
  await sql`update users set is_admin = false where id = ${id}::uuid`;
  const answer = await send("/api/queues", { cookie });
  expect(answer.status).toBe(403);
  expect(await problem(answer)).toMatchObject({ code: "FORBIDDEN" });
  expect(redirect(await send("/", { cookie }))).toEqual(signInPage);
  expect((await send("/api/queues/push/clean/failed", { method: "PUT", cookie })).status).toBe(403);
});

test("a cross-site request changes nothing", async () => {
  const { id, phone } = await admin(client);
  const cookie = await signIn(phone);
  await openQueue(push).resume();
  const origins: Record<string, string>[] = [
    {},
    { origin: "null" },
    { origin: "https://evil.example" },
    { origin: client.url, "sec-fetch-site": "cross-site" },
    { origin: client.url, "sec-fetch-site": "same-site" },
  ];
  for (const headers of origins) {
    expect((await send("/api/queues/push/pause", { method: "PUT", cookie, headers })).status).toBe(403);
    expect((await send("/sign-in", { method: "POST", form: { phone }, headers })).status).toBe(403);
    expect((await send("/sign-out", { method: "POST", cookie, headers })).status).toBe(403);
  }
  expect(await openQueue(push).isPaused()).toBe(false);
  expect(await auditOf(id)).toHaveLength(0);
  expect((await send("/api/queues", { cookie })).status).toBe(200);
});

test("an admin's action on a queue is carried out and audited", async () => {
  const { id, phone } = await admin(client);
  const cookie = await signIn(phone);
  const job = await openQueue(push).add("push", { notificationId: "0" }, { jobId: "7.0", delay: 60_000 });
  const put = async (path: string) => (await send(`/api/queues/push${path}`, { method: "PUT", cookie })).status;
  expect(await put("/pause")).toBe(200);
  expect(await openQueue(push).isPaused()).toBe(true);
  const settings = () => sql<{ paused: boolean }[]>`select paused_at is not null as paused from queue_settings`;
  expect([...(await settings())]).toEqual([{ paused: true }]);
  expect(await put("/7.0/promote")).toBe(204);
  expect(await job.getState()).not.toBe("delayed");
  expect(await put("/7.0/clean")).toBe(204);
  expect(await openQueue(push).getJob("7.0")).toBeUndefined();
  expect(await put("/resume")).toBe(200);
  expect([...(await settings())]).toEqual([{ paused: false }]);
  expect(await put("/retry/failed")).toBe(200);
  expect(await put("/clean/completed")).toBe(200);
  expect(await auditOf(id)).toEqual([
    { action: "QUEUE_PAUSE", details: { queue: "push", why: "on the dashboard" } },
    { action: "QUEUE_PROMOTE_JOB", details: { queue: "push", job: "7.0" } },
    { action: "QUEUE_CLEAN_JOB", details: { queue: "push", job: "7.0" } },
    { action: "QUEUE_RESUME", details: { queue: "push", why: "on the dashboard" } },
    { action: "QUEUE_RETRY_JOBS", details: { queue: "push", status: "failed" } },
    { action: "QUEUE_CLEAN_JOBS", details: { queue: "push", status: "completed" } },
  ]);
});

test("jobs cannot be added or edited, and queues cannot be emptied", async () => {
  const { id, phone } = await admin(client);
  const cookie = await signIn(phone);
  await openQueue(push).add("push", { notificationId: "0" }, { jobId: "8.0", delay: 60_000 });
  const before = await Promise.all(openQueues().map((queue) => queue.getJobCounts()));
  const writes = [
    ["POST", "/api/queues/push/add"],
    ["PATCH", "/api/queues/push/8.0/update-data"],
    ["PATCH", "/api/queues/push/8.0/delay"],
    ["PATCH", "/api/queues/push/8.0/priority"],
    ["PUT", "/api/queues/push/empty"],
    ["PUT", "/api/queues/push/obliterate"],
    ["PUT", "/api/queues/push/concurrency"],
    ["PUT", "/api/queues/upkeep/job-schedulers/canary/remove"],
    ["PUT", "/api/queues/upkeep/job-schedulers/canary/run"],
    ["PUT", "/api/queues/pause"],
    ["DELETE", "/api/queues/push"],
  ] as const;
  for (const [method, path] of writes) {
    const answer = await send(path, { method, cookie });
    expect([path, answer.status]).toEqual([path, 403]);
    expect(await problem(answer)).toMatchObject({ error: { key: "ERRORS.FORBIDDEN" }, message: expect.any(String) });
  }
  expect(await Promise.all(openQueues().map((queue) => queue.getJobCounts()))).toEqual(before);
  expect(await auditOf(id)).toHaveLength(0);
});

test("signing out ends the session for every holder of its cookie", async () => {
  const cookie = await signIn((await admin(client)).phone);
  expect(await page(await send("/sign-out", { cookie }))).toEqual({
    status: 200,
    text: expect.stringContaining('method="post"'),
  });
  expect((await send("/api/queues", { cookie })).status).toBe(200);
  const answer = await send("/sign-out", { method: "POST", cookie });
  expect(redirect(answer)).toEqual(signInPage);
  expect(answer.headers.get("set-cookie")).toMatch(/^queues=; Path=\/admin; Expires=Thu, 01 Jan 1970/);
  expect((await send("/api/queues", { cookie })).status).toBe(401);
});
