import express, { type Request } from "express";
import postgres from "postgres";

// A minimal hand-written endpoint on Express and postgres.js that stores POS events. It verifies no signature.

const pool = postgres(process.env["DATABASE_URL"] ?? "", { max: 10 });

interface PosEvent {
  type: string;
  externalId: string;
  partnerExternalId: string;
}

const app = express();

app.post(
  "/api/v1/pos/webhooks/generic",
  express.raw({ type: () => true }),
  async (request: Request<unknown, unknown, Buffer>, response) => {
    const { type, externalId, partnerExternalId } = JSON.parse(request.body.toString()) as PosEvent;
    await pool`
      insert into pos_events (partner_id, provider, account, event_id, change)
      select partner_id, 'generic', account, ${externalId}, ${pool.json({ kind: type })}
      from pos_credentials
      where adapter = 'generic' and account = ${partnerExternalId}
      on conflict do nothing`;
    response.json({ received: true });
  },
);

const server = app.listen(Number(process.env["PORT"]), "127.0.0.1", () => process.send?.("up"));
server.keepAliveTimeout = 65_000;
process.on("disconnect", () => process.exit());
