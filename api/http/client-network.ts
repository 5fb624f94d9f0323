import ipaddr from "ipaddr.js";
import { memoize } from "../../lib/domain/memoize.js";
import { keyedHash } from "../../lib/security/crypto.js";

/** Providers give one customer up to so many IPv6 addresses. */
const customerBits = 56;

/** An IPv4 address with its port, or an IPv6 address in brackets, as some proxies forward them: each connection has another port. */
const withPort = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([\da-fA-F:.%]+)\](?::\d{1,5})?)$/;

/**
 * Returns the key by which limits count a client: its IPv4 address, or its IPv6 network, without a port. Text that is no
 * address, as a proxy may forward, is cut to the length of one.
 */
export const clientNetwork = memoize((forwarded) => {
  const [, ipv4, ipv6] = withPort.exec(forwarded) ?? [];
  const address = ipv4 ?? ipv6 ?? forwarded;
  if (!ipaddr.isValid(address)) return address.slice(0, 64);
  const known = ipaddr.process(address);
  if (known.kind() === "ipv4") return known.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${known.toString()}/${customerBits}`);
  return `${network.toString()}/${customerBits}`;
});

/** Returns the form in which Postgres gets a client: a keyed hash of its network, as an address is personal data. */
export const storedClient = (address: string): string =>
  keyedHash("client", clientNetwork(address)).toString("base64url");
