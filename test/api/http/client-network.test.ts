import { expect, test } from "@jest/globals";
import { clientNetwork } from "../../../api/http/client-network.js";

test.each([
  ["203.0.113.7", 56, "203.0.113.7"],
  ["::ffff:203.0.113.7", 56, "203.0.113.7"],
  ["2001:db8:1:2ff:3::1", 56, "2001:db8:1:200::/56"],
  ["2001:db8:1:2ff:3::1", 64, "2001:db8:1:2ff::/64"],
  ["2001:DB8:0:0:0:0:0:1", 64, "2001:db8::/64"],
  ["fe80::1%eth0", 64, "fe80::/64"],
  ["::1", 56, "::/56"],
  ["", 56, ""],
  ["unknown", 56, "unknown"],
  ["203.0.113.7:443", 56, "203.0.113.7:443"],
])("%s counts, by %d bits, as %s", (address, bits, network) => {
  expect(clientNetwork(address, bits)).toBe(network);
});
