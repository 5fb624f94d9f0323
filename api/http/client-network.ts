import ipaddr from "ipaddr.js";

/**
 * What a limit counts a client by: its IPv4 address, or the first `bits` of its IPv6 address, as a provider gives one
 * customer many of those. Text that is no address, such as a proxy may forward, is counted as it is.
 */
export function clientNetwork(address: string, bits: number): string {
  if (!ipaddr.isValid(address)) return address;
  const known = ipaddr.process(address);
  if (known.kind() === "ipv4") return known.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${known.toString()}/${bits}`);
  return `${network.toString()}/${bits}`;
}
