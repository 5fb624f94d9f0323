import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { afterAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { askNameServers, isPublicAddress, publicLookup, publicLookupBy } from "../../../lib/outbound/public-address.js";
import { startNameServer } from "../../support/name-server.js";
import { until } from "../../support/until.js";

const privateRanges = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;

const numberOf = (address: string) => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const dotted = (number: number) => [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
const hex = (number: number) => {
  const digits = number.toString(16).padStart(8, "0");
  return `${digits.slice(0, 4)}:${digits.slice(4)}`;
};

const privateNumber = fc
  .constantFrom(...privateRanges)
  .chain(([start, bits]) => fc.nat(2 ** (32 - bits) - 1).map((offset) => numberOf(start) + offset));

test("no private, reserved or multicast IPv4 address is public, in any IPv6 notation", () => {
  fc.assert(
    fc.property(privateNumber, (number) => {
      const [four, six] = [dotted(number), hex(number)];
      const spellings = [
        four,
        `::${four}`,
        `::ffff:${four}`,
        `::ffff:${six}`,
        `0:0:0:0:0:ffff:${six}`,
        `::ffff:0:${four}`,
        `64:ff9b::${six}`,
        `64:ff9b:1::${six}`,
        `2002:${six}::1`,
        `2001:0:${six}::1`,
      ];
      for (const address of spellings) expect([address, isPublicAddress(address)]).toEqual([address, false]);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  "::",
  "::1",
  "fe80::1",
  "fe80::1%eth0",
  "febf::1",
  "fec0::1",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "100::1",
  "1::1",
  "2001:db8::1",
  "2001:10::1",
  "3fff::1",
  "4000::1",
  "5f00::1",
  "no address",
  "",
])("%p is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  "1.1.1.1",
  "8.8.8.8",
  "100.63.255.255",
  "100.128.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a02:6b8::feed:ff",
  "::ffff:8.8.8.8",
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

/** The result of connecting when a name resolves to these addresses, one list per call. */
function lookups(...answers: string[][]) {
  const lookup = publicLookupBy((_name, _options, callback) => {
    const found = (answers.shift() ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    callback(null, found);
  });
  return (all = true) =>
    new Promise<string | LookupAddress[]>((resolve, reject) => {
      lookup("pos.example.com", { all }, (error, found) => (error ? reject(error) : resolve(found)));
    });
}

test("a name resolves to its public addresses", async () => {
  const found = [
    { address: "8.8.8.8", family: 4 },
    { address: "2606:4700::1", family: 6 },
  ];
  expect(await lookups(["8.8.8.8", "2606:4700::1"])()).toEqual(found);
  expect(await lookups(["8.8.8.8", "2606:4700::1"])(false)).toBe("8.8.8.8");
});

test("a name with one private address is refused like an unknown one, so that callers learn no names of private networks", async () => {
  for (const addresses of [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["2606:4700::1", "::1"], []])
    for (const all of [true, false]) await expect(lookups(addresses)(all)).rejects.toMatchObject({ code: "ENOTFOUND" });
});

test("a name that becomes private after its first lookup is refused", async () => {
  const lookup = lookups(["8.8.8.8"], ["169.254.169.254"]);
  expect(await lookup()).toHaveLength(1);
  await expect(lookup()).rejects.toMatchObject({ code: "ENOTFOUND" });
});

const nameServer = await startNameServer({
  "shop.example.com": ["8.8.8.8", "2606:4700::1"],
  "four.example.com": ["8.8.8.8"],
  "mixed.example.com": ["8.8.8.8", "::1"],
});
afterAll(() => nameServer.stop());

const asked = publicLookupBy(
  askNameServers(() => {
    const resolver = new Resolver({ timeout: 100, tries: 1 });
    resolver.setServers([nameServer.address]);
    return resolver;
  }),
);
const addressesOf = (name: string) =>
  new Promise((resolve, reject) => {
    asked(name, { all: true }, (error, found) => (error ? reject(error) : resolve(found)));
  });

test("a name server is asked for addresses of both kinds, and a name without any is unknown", async () => {
  const four = { address: "8.8.8.8", family: 4 };
  expect(await addressesOf("shop.example.com")).toEqual([four, { address: "2606:4700::1", family: 6 }]);
  expect(await addressesOf("four.example.com")).toEqual([four]);
  for (const name of ["mixed.example.com", "none.example.com", "not a name"])
    await expect(addressesOf(name)).rejects.toMatchObject({ code: "ENOTFOUND" });
});

test("a name whose server is silent has no address for now", async () => {
  await expect(addressesOf("silent.example.com")).rejects.toMatchObject({ code: "EAI_AGAIN" });
});

test("names take none of the threads that all names of the system share", async () => {
  let ended = false;
  publicLookup("no..name", { all: true }, () => (ended = true));
  expect(process.getActiveResourcesInfo()).not.toContain("GetAddrInfoReqWrap");
  await until(() => ended);
});
