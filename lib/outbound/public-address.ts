import { lookup, type LookupAddress, type LookupAllOptions } from "node:dns";
import { Resolver } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { config } from "../process/config.js";
import { networkCode } from "./network-error.js";

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

/** How long a name server is waited for, each time it is asked. */
const DNS = { timeout: 2_000, tries: 2 };
/** Whether a name does not exist, or has no address of this kind. */
const isUnknown = (error: unknown): boolean => /^(ENOTFOUND|ENODATA|EBADNAME)$/.test(networkCode(error));

/** As a name server that does not answer is reported by `lookup`. */
const unansweredName = () => Object.assign(new Error("the name server gave no answer"), { code: "EAI_AGAIN" });

/**
 * Returns a function that asks name servers itself. The system's `lookup` holds one of a process's few threads until it has an answer:
 * a few names of clients whose servers are silent would hold up the names of everybody. A resolver is new for each name, as the system's servers may
 * change.
 */
export const askNameServers =
  (newResolver = () => new Resolver(DNS)): Resolve =>
  (hostname, _options, callback) => {
    const resolver = newResolver();
    const found = (addresses: Promise<string[]>, family: 4 | 6): Promise<LookupAddress[]> =>
      addresses.then((list) => list.map((address) => ({ address, family })));
    void Promise.allSettled([found(resolver.resolve4(hostname), 4), found(resolver.resolve6(hostname), 6)]).then(
      (results) => {
        const addresses = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
        const isUnanswered = results.some((result) => result.status === "rejected" && !isUnknown(result.reason));
        if (addresses.length > 0) callback(null, addresses);
        else callback(isUnanswered ? unansweredName() : unknownName());
      },
    );
  };

// private names, such as `localhost`, are not in the public DNS
export const publicLookup = publicLookupBy(config.ALLOW_PRIVATE_ADDRESSES ? lookup : askNameServers());
