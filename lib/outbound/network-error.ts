import { z } from "zod";

const Failure = z.object({
  name: z.string(),
  code: z.string().optional().catch(undefined),
  cause: z.object({ code: z.string() }).optional().catch(undefined),
});

/** Returns the code of the system error behind a failed call, else the error's name. */
export function networkCode(error: unknown): string {
  const known = Failure.safeParse(error);
  return known.success ? (known.data.cause?.code ?? known.data.code ?? known.data.name) : "unknown";
}

/** Whether a call failed before the first byte of its request was sent, so that it may be repeated. */
export const neverSent = (error: unknown): boolean =>
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|ERR_(TLS|SSL)_\w+)$/.test(
    networkCode(error),
  );
