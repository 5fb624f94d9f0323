import ipaddr from "ipaddr.js";

/**
 * Returns the key by which limits count a client: its IPv4 address, or the first `bits` of its IPv6 address, because
 * providers give one customer many of those. Text that is no address, as a proxy may forward, is returned unchanged.
 */
export function clientNetwork(address: string, bits: number): string {
  if (!ipaddr.isValid(address)) return address;
  const known = ipaddr.process(address);
  if (known.kind() === "ipv4") return known.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${known.toString()}/${bits}`);
  return `${network.toString()}/${bits}`;
}
