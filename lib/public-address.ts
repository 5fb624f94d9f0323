import { lookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { config } from "./config.js";

/** An address that a client gave leads into a private network. */
export class PrivateAddress extends Error {
  override name = "PrivateAddress";
}

/** Whether an IP address is one of the public internet: not private, loopback, link-local, mapped, tunnelled or reserved. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.process(address).range() === "unicast";
}

const refuse = () => new PrivateAddress("the address is not a public one");

/** Refuses an address that names a private IP; names are checked by `publicLookup` once they are resolved. */
export function requirePublicHost({ hostname }: URL): void {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (!config.ALLOW_PRIVATE_ADDRESSES && ipaddr.isValid(host) && !isPublicAddress(host)) throw refuse();
}

/** Resolves a name for a connection, to public addresses only: what was checked is what is connected to. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    const [first] = found;
    if (error) callback(error, []);
    else if (!first || (!config.ALLOW_PRIVATE_ADDRESSES && !found.every(({ address }) => isPublicAddress(address))))
      callback(refuse(), []);
    else if (options.all) callback(null, found);
    else callback(null, first.address, first.family);
  });
};
