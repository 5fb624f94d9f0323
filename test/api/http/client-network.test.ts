import { expect, test } from "@jest/globals";
import { clientNetwork } from "../../../api/http/client-network.js";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2ff:3::1", "2001:db8:1:200::/56"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8::/56"],
  ["fe80::1%eth0", "fe80::/56"],
  ["::1", "::/56"],
  ["", ""],
  ["unknown", "unknown"],
  ["203.0.113.7:443", "203.0.113.7"],
  ["[2001:db8:1:2ff:3::1]:443", "2001:db8:1:200::/56"],
  ["[2001:db8::1]", "2001:db8::/56"],
  ["[x]:443", "[x]:443"],
  ["x".repeat(100), "x".repeat(64)],
])("%s is counted as %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
