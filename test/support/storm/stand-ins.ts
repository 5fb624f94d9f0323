import { newVapidKeys } from "../../../lib/process/push-keys.js";
import { fcmRefusals, startFcm } from "../push/fcm.js";
import type { Reaction } from "../push/service.js";
import { startWebPush } from "../push/web-push.js";
import { startSmsGateway, type GatewayAnswer } from "../sms-gateway.js";
import { startTill, type Till } from "../till.js";
import { startWebhookReceiver } from "../webhook-receiver.js";

/** How many bakeries sell. */
export const SELLERS = 3;
/** Until a receiver knows that of its endpoint. */
const NO_SECRET = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/** More than are asked for while a trouble lasts. */
const MANY_ANSWERS = 20_000;

/** A third party that answers badly from `begin` to `end`. */
export interface Trouble {
  name: string;
  begin: () => void;
  end: () => void;
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>;

/** The third parties of the service, as servers in this process. */
export interface StandIns {
  fcm: Awaited<ReturnType<typeof startFcm>>;
  web: Awaited<ReturnType<typeof startWebPush>>;
  sms: Awaited<ReturnType<typeof startSmsGateway>>;
  till: Till;
  /** What gets the webhooks of the platform, and never fails. */
  audit: WebhookReceiver;
  /** What gets those of each seller. */
  receivers: readonly WebhookReceiver[];
  /** The public key that browsers subscribe with. */
  vapidKey: string;
  /** The configuration by which the service finds them. */
  env: Record<string, string>;
  troubles: readonly Trouble[];
  stop(): Promise<void>;
}

const troublesOf = <Answer>(
  name: string,
  answerWith: (...next: Answer[]) => void,
  answers: Record<string, Answer>,
): Trouble[] =>
  Object.entries(answers).map(([answer, given]) => ({
    name: `${name} answers ${answer}`,
    begin: () => answerWith(...Array<Answer>(MANY_ANSWERS).fill(given)),
    end: () => answerWith(),
  }));

function troublesOfTill(till: Till): Trouble[] {
  let release = (): void => undefined;
  const failing = (status: number, headers: Record<string, string> = {}) => ({
    name: `the POS answers ${status}`,
    begin: () => till.fail(status, headers),
    end: () => till.fail(null),
  });
  return [
    failing(429, { "retry-after": "1" }),
    failing(500),
    { name: "the POS answers never", begin: () => void (release = till.hold()), end: () => release() },
  ];
}

function troublesOfReceivers(receivers: readonly WebhookReceiver[]): Trouble[] {
  const answering = (name: string, answer: Parameters<WebhookReceiver["answerWith"]>[0]) => ({
    name: `receivers of webhooks answer ${name}`,
    begin: () => {
      for (const receiver of receivers) receiver.answerWith(answer);
    },
    end: () => {
      for (const receiver of receivers) receiver.answerWith();
    },
  });
  return [
    answering("429", (response) => void response.writeHead(429, { "retry-after": "1" }).end()),
    answering("500", (response) => void response.writeHead(500).end()),
    answering("never", () => undefined),
  ];
}

/** Starts push services, an SMS gateway, a POS and receivers of webhooks. */
export async function startStandIns(): Promise<StandIns> {
  const [fcm, web, sms, till] = await Promise.all([startFcm(), startWebPush(), startSmsGateway(), startTill()]);
  const [audit, ...receivers] = await Promise.all([
    startWebhookReceiver(NO_SECRET),
    ...Array.from({ length: SELLERS }, () => startWebhookReceiver(NO_SECRET)),
  ]);
  const vapid = newVapidKeys();
  return {
    ...{ fcm, web, sms, till, audit, receivers },
    vapidKey: vapid.VAPID_PUBLIC_KEY,
    env: {
      ...vapid,
      FCM_URL: fcm.url,
      FCM_SERVICE_ACCOUNT: fcm.serviceAccount,
      PUSH_SERVICES: new URL(web.url).host,
      SMS_SENDER: "http",
      SMS_HTTP_URL: sms.url,
      ALLOW_PRIVATE_ADDRESSES: "1",
    },
    troubles: [
      ...troublesOf<Reaction>("FCM", fcm.answerWith, {
        429: fcmRefusals.quotaExceeded("1"),
        500: fcmRefusals.internal,
        never: "hang",
      }),
      ...troublesOf<Reaction>("Web Push", web.answerWith, {
        429: { status: 429, headers: { "retry-after": "1" } },
        500: { status: 500 },
        never: "hang",
      }),
      ...troublesOf<GatewayAnswer>("the SMS gateway", sms.answerWith, { 429: 429, 500: 500, never: "hang" }),
      ...troublesOfTill(till),
      ...troublesOfReceivers(receivers),
    ],
    stop: async () => {
      await Promise.all([fcm, web, sms, till, audit, ...receivers].map((each) => each.stop()));
    },
  };
}
