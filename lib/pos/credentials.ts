import { z } from "zod";

/** A credential that is sent in headers and addresses. */
export const Secret = z.string().regex(/^[\x21-\x7e]{1,500}$/, "must be 1 to 500 visible ASCII characters");

/** The secret that signs a partner's own webhooks. */
export const WebhookSecret = z
  .string()
  .regex(/^[\x21-\x7e]{8,500}$/, "must be 8 to 500 visible ASCII characters")
  .optional();
