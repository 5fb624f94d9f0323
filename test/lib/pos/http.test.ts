import { once } from "node:events";
import { createServer } from "node:net";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { startVendor } from "../../support/pos/vendor.js";

const vendor = await startVendor(() => ({ body: { answer: 42 } }));
const elsewhere = await startVendor(() => ({ body: { answer: "elsewhere" } }));
const never = new AbortController().signal;

/** Imports the module with or without access to private addresses. */
async function load(allowed: boolean) {
  process.env["ALLOW_PRIVATE_ADDRESSES"] = allowed ? "1" : "";
  jest.resetModules();
  const outbound = await import("../../../lib/pos/http.js");
  const { publicLookupBy } = await import("../../../lib/outbound/public-address.js");
  const { PosRefused, PosUnavailable } = await import("../../../lib/pos/adapter.js");
  return { ...outbound, publicLookupBy, PosRefused, PosUnavailable };
}

const closed = await load(false);
const open = await load(true);
const hasty = open.outboundCaller(undefined, { timeoutMs: 300, mostBytes: 1_000 });

afterEach(() => vendor.recover());
afterAll(async () => {
  await vendor.stop();
  await elsewhere.stop();
});

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => {
      throw new Error("it was answered");
    },
    (error: unknown) => error as Error & { retryAfterSeconds?: number | null },
  );

describe("a private address", () => {
  let port = 0;
  let connections = 0;
  const trap = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });

  beforeAll(async () => {
    trap.listen(0, "::");
    await once(trap, "listening");
    const address = trap.address();
    if (typeof address === "object" && address) port = address.port;
  });
  afterAll(() => void trap.close());

  const hosts = [
    // loopback
    ...["127.0.0.1", "127.1", "127.0.1", "127.000.000.001", "127.0.0.1.", "127.255.255.254", "2130706433"],
    ...["0x7f000001", "0x7F.1", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "0177.0.0.0x1", "017700000001", "00000177.1"],
    ...["%31%32%37.0.0.1", "127%2e0.0.1", "127。0。0。1", "１２７.0.0.1", "①②⑦.⓪.⓪.①", "127.0.0.1%00.example.com"],
    ...["0", "0.0.0.0", "0.0", "0x0", "00000000000", "0.0.0.0.", "0.1.2.3", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]"],
    ...["[0000::0001]", "[::0:1]", "[::127.0.0.1]", "[::7f00:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"],
    ...["[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]"],
    ...["[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2002:7f00:0001::1]", "[::1%25lo]", "[::1%lo]"],
    ...["[2001:0:7f00:1::]", "[2001:0000:4136:e378:8000:63bf:80ff:fffe]", "[::ffff:0.0.0.0]"],
    // cloud metadata
    ...["169.254.169.254", "169.254.43518", "169.16689662", "2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE"],
    ...["0251.0376.0251.0376", "025177524776", "169.254.169.254.", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]"],
    ...["[::a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00:ec2::254]", "[FD00:0EC2::0254]"],
    ...["169.254.170.2", "100.100.100.200", "192.0.0.192", "[fe80::a9fe:a9fe]", "[fd20:ce::254]"],
    // private networks
    ...["10.0.0.1", "10.1", "167772161", "0xa.0.0.1", "012.0.0.1", "172.16.0.1", "172.31.255.255", "0xac100001"],
    ...["192.168.0.1", "192.168.1", "3232235521", "0xc0a80001", "0300.0250.0.1", "100.64.0.1", "100.127.255.255"],
    ...["[::ffff:10.0.0.1]", "[::ffff:c0a8:1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[fc00::1]", "[fdff::1]"],
    ...["[fe80::1]", "[fe80::1%25eth0]", "[febf::1]", "[fec0::1]", "198.18.0.1", "198.19.255.255", "192.0.2.1"],
    ...["198.51.100.1", "203.0.113.1", "[2001:db8::1]", "[100::1]", "[3fff::1]", "[5f00::1]"],
    // broadcast and multicast
    ...["224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "4294967295", "0xffffffff", "[ff02::1]"],
  ];

  test("has more than a hundred spellings here", () => {
    expect(new Set(hosts).size).toBe(hosts.length);
    expect(hosts.length).toBeGreaterThan(100);
  });

  test.each(hosts)("such as %s is not called", async (host) => {
    const error = await failureOf(closed.callOutbound(`https://${host}:${port}/menu`, { signal: never }));
    expect(error).toBeInstanceOf(closed.PosRefused);
    expect(connections).toBe(0);
  });

  test("is not called by a local host name", async () => {
    const localhost = ["localhost", "LOCALHOST", "LocalHost", "loc%61lhost", "ｌｏｃａｌｈｏｓｔ"];
    for (const name of [...localhost, "localhost.", "ip6-localhost", "a.localhost", "localhost.localdomain"])
      await failureOf(closed.callOutbound(`https://${name}:${port}/`, { signal: never }));
    expect(connections).toBe(0);
  });

  test.each([
    "http://8.8.8.8/",
    "http://pos.example.com/",
    "ftp://pos.example.com/",
    "file:///etc/passwd",
    "gopher://8.8.8.8/",
    "data:application/json,{}",
    "javascript:1",
    "https://user@8.8.8.8/",
    "https://user:password@8.8.8.8/",
    "https://8.8.8.8@127.0.0.1/",
    "https://127.0.0.1#@8.8.8.8/",
    "https://127.0.0.1?@8.8.8.8/",
    "https://127.0.0.1\\@8.8.8.8/",
    "https:127.0.0.1",
    "//127.0.0.1/",
    "https://",
    "/menu",
    "",
  ])("or an invalid or insecure URL such as %p is not called", async (address) => {
    expect(await failureOf(closed.callOutbound(address, { signal: never }))).toBeInstanceOf(closed.PosRefused);
  });

  /** A caller whose names resolve to these addresses, one list per call; `seen` gets every lookup. */
  const callerOf = (answers: string[][], seen: () => void = () => undefined) =>
    closed.outboundCaller(
      closed.publicLookupBy((_name, _options, callback) => {
        const found = (answers.shift() ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
        seen();
        callback(null, found);
      }),
    );

  test.each([[["127.0.0.1"]], [["8.8.8.8", "127.0.0.1"]], [["::1"]], [["::ffff:127.0.0.1"]], [["10.0.0.1"]]])(
    "is not called by a name that resolves to %j",
    async (addresses) => {
      const call = callerOf([addresses]);
      const error = await failureOf(call(`https://pos.example.com:${port}/`, { signal: never }));
      expect(error.message).toBe("the POS gives no answer (ENOTFOUND)");
      expect(connections).toBe(0);
    },
  );

  test("is not called by a name that was public at its last lookup", async () => {
    const controller = new AbortController();
    // no public server is called either: the first call ends as soon as the name is resolved
    const call = callerOf([["8.8.8.8"], ["127.0.0.1"]], () => controller.abort(new Error("enough")));
    const address = `https://pos.example.com:${port}/`;
    expect(await failureOf(call(address, { signal: controller.signal }))).toMatchObject({ message: "enough" });
    expect(await failureOf(call(address, { signal: never }))).toBeInstanceOf(closed.PosUnavailable);
    expect(connections).toBe(0);
  });
});

test("the address that was checked is the one that is called", async () => {
  let resolutions = 0;
  const call = open.outboundCaller(
    open.publicLookupBy((_name, _options, callback) => {
      resolutions += 1;
      callback(null, resolutions === 1 ? [{ address: "127.0.0.1", family: 4 }] : []);
    }),
  );
  const address = vendor.url.replace("127.0.0.1", "pos.example.com");
  expect(await call(address, { signal: never })).toEqual({ answer: 42 });
  expect(resolutions).toBe(1);
});

describe("an outbound call", () => {
  test("sends JSON and asks for uncompressed JSON", async () => {
    const headers = { authorization: "Bearer t" };
    const sent = { headers, method: "POST", body: { a: 1 }, signal: never } as const;
    expect(await open.callOutbound(`${vendor.url}/menu?page=2`, sent)).toEqual({ answer: 42 });
    const [request] = vendor.requests;
    expect(request).toMatchObject({ method: "POST", path: "/menu?page=2", body: { a: 1 } });
    expect(request?.headers).toMatchObject({
      accept: "application/json",
      "accept-encoding": "identity",
      authorization: "Bearer t",
      "content-type": "application/json",
    });
  });

  test("can ignore the body of a success", async () => {
    vendor.trouble({ status: 204, body: "" });
    vendor.trouble({ body: "<html>fine</html>" });
    vendor.trouble({ status: 503, body: "" });
    const call = { unread: true, signal: never };
    expect(await open.callOutbound(vendor.url, call)).toBeUndefined();
    expect(await open.callOutbound(vendor.url, call)).toBeUndefined();
    expect(await failureOf(open.callOutbound(vendor.url, call))).toBeInstanceOf(open.PosUnavailable);
  });

  test.each([301, 302, 303, 307, 308])("does not follow a %d", async (status) => {
    for (const location of [elsewhere.url, "/other", "http://169.254.169.254/latest/meta-data"]) {
      vendor.trouble({ status, headers: { location }, body: "" });
      const error = await failureOf(open.callOutbound(vendor.url, { signal: never }));
      expect(error).toBeInstanceOf(open.PosRefused);
    }
    expect(elsewhere.requests).toHaveLength(0);
    expect(vendor.requests).toHaveLength(3);
  });

  test.each([
    [401, "PosRefused"],
    [403, "PosRefused"],
    [400, "PosRefused"],
    [404, "PosRefused"],
    [408, "PosUnavailable"],
    [429, "PosUnavailable"],
    [500, "PosUnavailable"],
    [502, "PosUnavailable"],
    [503, "PosUnavailable"],
    [504, "PosUnavailable"],
  ] as const)("answered with %d fails with %s", async (status, kind) => {
    vendor.trouble({ status, body: { answer: "no" } });
    const error = await failureOf(open.callOutbound(vendor.url, { signal: never }));
    expect(error).toBeInstanceOf(open[kind]);
    expect(error instanceof open.TokenRefused).toBe(status === 401);
  });

  test.each([
    ["invalid JSON", { body: "<html>" }],
    ["a truncated body", { body: '{"answer":4' }],
    ["an empty body", { body: "" }],
    ["a body over the limit", { body: JSON.stringify("x".repeat(1_000)) }],
    ["a chunked body over the limit", { headers: { "transfer-encoding": "chunked" }, body: "x".repeat(5_000) }],
    ["a compressed body", { headers: { "content-encoding": "gzip" }, body: gzipSync('{"answer":42}') }],
    [
      "a small body that decompresses to a huge one",
      { headers: { "content-encoding": "gzip" }, body: gzipSync("1".repeat(9e6)) },
    ],
    ["an unknown encoding", { headers: { "content-encoding": "zip" }, body: "{}" }],
    ["a broken connection", "drop"],
    ["no answer", "hang"],
    ["a body that arrives byte by byte", "slowly"],
  ] as const)("answered with %s fails with PosUnavailable", async (_what, trouble) => {
    vendor.trouble(trouble);
    expect(await failureOf(hasty(vendor.url, { signal: never }))).toBeInstanceOf(open.PosUnavailable);
  });

  test("to an unknown name fails with PosUnavailable", async () => {
    const unknown = Object.assign(new Error("unknown"), { code: "ENOTFOUND" });
    const call = open.outboundCaller(open.publicLookupBy((_name, _options, callback) => callback(unknown)));
    const error = await failureOf(call("http://pos.example.com/", { signal: never }));
    expect(error).toBeInstanceOf(open.PosUnavailable);
    expect(error.message).toContain("ENOTFOUND");
  });

  test("to a port without a server fails with PosUnavailable", async () => {
    const gone = await startVendor(() => ({ body: {} }));
    await gone.stop();
    const error = await failureOf(open.callOutbound(gone.url, { signal: never }));
    expect(error).toBeInstanceOf(open.PosUnavailable);
    expect(error.message).toContain("ECONNREFUSED");
  });

  test("ends at once when it is aborted", async () => {
    const release = vendor.hold();
    const controller = new AbortController();
    const failed = failureOf(open.callOutbound(vendor.url, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect((await failed).message).toBe("enough");
    release();
    const gone = AbortSignal.abort(new Error("too late"));
    expect((await failureOf(open.callOutbound(vendor.url, { signal: gone }))).message).toBe("too late");
  });

  test.each<[string, Parameters<typeof vendor.trouble>[0]]>([
    ["401", { status: 401, body: "body-4711" }],
    ["500", { status: 500, headers: { "x-trace": "header-4711" }, body: "body-4711" }],
    ["302", { status: 302, headers: { location: "https://4711.example.com" }, body: "" }],
    ["no JSON", { body: "body-4711" }],
    ["drop", "drop"],
  ])("does not reveal address, headers or bodies in its error: %s", async (_what, trouble) => {
    vendor.trouble(trouble);
    const headers = { authorization: "Bearer 4711" };
    const call = { method: "POST", headers, body: { secret: "4711" }, signal: never } as const;
    const error = await failureOf(open.callOutbound(`${vendor.url}/?token=4711`, call));
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(/4711|127\.0\.0\.1/);
  });
});

describe("the time to wait", () => {
  test("is part of a temporary refusal, up to an hour", async () => {
    vendor.limit("11");
    vendor.trouble({ status: 503, headers: { "retry-after": "12" }, body: {} });
    vendor.trouble({ status: 503, headers: { "retry-after": "3601" }, body: {} });
    vendor.trouble({ status: 500, body: {} });
    const call = () => failureOf(open.callOutbound(vendor.url, { signal: never }));
    const errors = [await call(), await call(), await call(), await call()];
    expect(errors.map((error) => error.retryAfterSeconds)).toEqual([11, 12, 3_600, null]);
  });
});
