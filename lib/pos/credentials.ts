import { z } from "zod";

/** What lets us in: it travels in headers and addresses. */
export const Secret = z.string().regex(/^[\x21-\x7e]{1,500}$/, "must be 1 to 500 visible ASCII characters");

/** What a partner's own webhooks are signed with. */
export const WebhookSecret = z
  .string()
  .regex(/^[\x21-\x7e]{8,500}$/, "must be 8 to 500 visible ASCII characters")
  .optional();
