import { lookup, type LookupAddress, type LookupAllOptions } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { config } from "../process/config.js";

/** The host of an address that a client gave is a private IP. */
export class PrivateAddress extends Error {
  override name = "PrivateAddress";
}

const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/** Whether an IP address is public: not private, loopback, link-local, mapped, tunnelled or reserved. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const known = ipaddr.process(address);
  if (known.range() !== "unicast") return false;
  // ipaddr.js also calls unassigned ranges unicast, and IPv4 addresses in the last four bytes of `::`
  return known.kind() === "ipv4" || known.match(globalUnicast);
}

/** Throws PrivateAddress when the host is a private IP; `publicLookup` checks names once they are resolved. */
export function requirePublicHost({ hostname }: URL): void {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (!config.ALLOW_PRIVATE_ADDRESSES && ipaddr.isValid(host) && !isPublicAddress(host))
    throw new PrivateAddress("the address is not a public one");
}

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found?: LookupAddress[]) => void,
) => void;

/** The error for a name without an address: a client does not learn which names there are in private networks. */
const unknownName = () => Object.assign(new Error("the name has no public address"), { code: "ENOTFOUND" });

/** Resolves names with `resolve`, to public addresses only: the checked address is the one connected to. */
export const publicLookupBy =
  (resolve: Resolve): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found = []) => {
      const [first] = found;
      if (error) callback(error, []);
      else if (!first || (!config.ALLOW_PRIVATE_ADDRESSES && !found.every(({ address }) => isPublicAddress(address))))
        callback(unknownName(), []);
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };

export const publicLookup = publicLookupBy(lookup);
