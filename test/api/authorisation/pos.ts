import { randomUUID } from "node:crypto";
import { sql } from "../../../sql/db.js";
import { among, type Expectations } from "./scene.js";

// an address where no server listens
const baseUrl = "https://pos.invalid";
const credentialsJson = () => JSON.stringify({ accountId: randomUUID(), baseUrl, token: "till-token" });

export const pos: Expectations = {
  "GET /api/v1/pos/adapters": { ask: (as) => as.get("/api/v1/pos/adapters"), answer: "200" },
  "PUT /api/v1/pos/credentials": {
    ask: (as, { bakeryId }) =>
      as.put("/api/v1/pos/credentials", {
        partnerId: bakeryId,
        adapterName: "generic",
        credentialsJson: credentialsJson(),
      }),
    answer: "200",
  },
  "DELETE /api/v1/pos/credentials/:partnerId": {
    prepare: async ({ bakeryId, callers }) => {
      await callers.admin.put("/api/v1/pos/credentials", {
        partnerId: bakeryId,
        adapterName: "generic",
        credentialsJson: credentialsJson(),
      });
      return bakeryId;
    },
    ask: (as, _scene, partnerId) => as.delete(`/api/v1/pos/credentials/${partnerId}`),
    answer: "204",
  },
  "POST /api/v1/pos/test-connection": {
    ask: (as) => as.post("/api/v1/pos/test-connection", { adapterName: "generic", credentialsJson: credentialsJson() }),
    answer: "200",
    except: among(["rejected partner", "suspended partner"], "403 FORBIDDEN"),
  },
  // the signature decides, and no caller here can make a valid one
  "POST /api/v1/pos/webhooks/:provider": {
    ask: (as) => {
      const partnerExternalId = randomUUID();
      return as.post("/api/v1/pos/webhooks/generic", { type: "menu.updated", externalId: "1", partnerExternalId });
    },
    answer: "401 UNAUTHORIZED",
  },
  "GET /api/v1/admin/pos/events": { ask: (as) => as.get("/api/v1/admin/pos/events"), answer: "200" },
  "POST /api/v1/admin/pos/events/:id/replay": {
    prepare: async ({ bakeryId }) => {
      const [event] = await sql<{ id: number }[]>`
        insert into pos_events (partner_id, provider, account, event_id, change, status, settled_at)
        values (${bakeryId}::uuid, 'generic', 'bakery', ${randomUUID()}, '{"kind": "menu.updated"}', 'PARKED', now())
        returning id`;
      return String(event?.id);
    },
    ask: (as, _scene, id) => as.post(`/api/v1/admin/pos/events/${id}/replay`),
    answer: "200",
  },
};
