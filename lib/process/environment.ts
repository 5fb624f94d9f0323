import { z } from "zod";
import { adapterNames } from "../domain/adapter-names.js";
import { phonePattern } from "../domain/phone.js";
import { parseCredentialsKeys, parseSigningKeys } from "./keys.js";
import { isVapidPrivateKey, isVapidPublicKey, parseServiceAccount } from "./push-keys.js";
import { readRedisUrl } from "./redis-address.js";
import { DATABASE_EXAMPLE, readDatabaseUrl } from "./server-address.js";
import {
  count,
  eachUsable,
  flag,
  known,
  list,
  longEnough,
  matchable,
  oneOf,
  parseHeaders,
  parsePairs,
  parseSecrets,
  perQueue,
  posUrl,
  ratio,
  secret,
  shaped,
  url,
  usable,
  zone,
} from "./variable-kinds.js";

/** Defaults of limits in production and otherwise, where all clients have one address; null is no limit. */
export const limitDefaults = {
  OTP_SENDS_PER_PHONE: { production: 10, otherwise: null },
  OTP_GUESSES_PER_ADDRESS: { production: 60, otherwise: 300 },
  REGISTRATIONS_PER_ADDRESS: { production: 30, otherwise: null },
};
export type Limits = Record<keyof typeof limitDefaults, number | null>;
const limit = (name: keyof Limits, what: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,5}$/, "must be a whole number from 1 to 999999")
    .transform(Number)
    .optional()
    .describe(
      `${what}; default ${limitDefaults[name].production} in production and ${limitDefaults[name].otherwise ?? "no limit"} otherwise`,
    );

/** Every variable the service reads, with its default and what it is for (`description` feeds the table in scripts/ops/configuration.md). */
export const environment = z
  .object({
    NODE_ENV: oneOf("development", "test", "production")
      .default("development")
      .describe("`production` refuses development shortcuts and whatever is half configured"),
    HOST: z.string().default("0.0.0.0").describe("address the API listens on"),
    PORT: count(3000, 0, 65_535).describe("port the API listens on"),
    PUBLIC_URL: z
      .url()
      .optional()
      .describe(
        "the address clients reach the API at; https, and required, in production; default `http://localhost:PORT`",
      ),
    DATABASE_URL: z
      .string(`is missing; it must be an address such as ${DATABASE_EXAMPLE}`)
      .superRefine(usable(readDatabaseUrl))
      .describe(
        "Postgres 15 or later: one address that leads to the primary, or all servers, as in `postgres://user:password@one:5432,two:5432/name`; `npm start` brings its own when this is not set",
      ),
    DATABASE_DIRECT_URL: z
      .string()
      .superRefine(usable(readDatabaseUrl))
      .optional()
      .describe(
        "Postgres itself, for what needs a session, when `DATABASE_URL` is a pooler by transaction; default `DATABASE_URL`",
      ),
    DATABASE_PREPARE: z
      .stringbool()
      .default(true)
      .describe("`0` prepares no statements, for a pooler that loses them, such as PgBouncer before 1.21"),
    DATABASE_REPLICA_URLS: z
      .string()
      .default("")
      // a password, and a list of hosts, may have commas
      .transform((value) =>
        value
          .replace(/^[\s,]+|[\s,]+$/g, "")
          .split(/[\s,]+(?=\w+:\/\/)/)
          .filter(Boolean),
      )
      .superRefine(eachUsable)
      .describe(
        "streaming replicas, comma-separated, that may answer reads without a token and reports; each as `DATABASE_URL`",
      ),
    DATABASE_REPLICA_MAX_LAG_MS: count(2_000, 100, 600_000).describe(
      "how old what is read from a replica may be; one that is further behind is passed over",
    ),
    DATABASE_POOL: count(10, 1, 500).describe(
      "size of each of a process's three pools: single statements, statements that may wait for a row, transactions",
    ),
    DATABASE_TIMEOUT_MS: count(10_000, 100, 600_000).describe(
      "longest duration of a statement, and of a pause between two in a transaction; a rollup may take 15 minutes",
    ),
    DATABASE_WAIT_MS: count(3_000, 100, 600_000).describe(
      "longest wait for a connection for a transaction; a request that has to wait for longer is answered 503",
    ),
    SEARCH_TIMEOUT_MS: count(800, 100, 600_000).describe(
      "longest duration of a search or another list that is read without a token, and its longest wait for a turn",
    ),
    REDIS_URL: z
      .string()
      .superRefine(usable(readRedisUrl))
      .optional()
      .describe(
        "where BullMQ lives: `redis://host`, `redis+cluster://host1,host2` or `redis+sentinel://host1,host2/name`, over TLS with `rediss`; without it BullMQ lives in Postgres",
      ),
    DATA_DIR: z.string().default(".data").describe("where `npm start` keeps its Postgres and its keys"),
    STORAGE_DIR: z
      .string()
      .optional()
      .describe(
        "where uploaded files are kept; in production an absolute path, required without `S3_BUCKET`; default `files` in `DATA_DIR`",
      ),
    S3_BUCKET: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be 3 to 63 small letters, digits, dots and hyphens")
      .optional()
      .describe("keeps uploaded files in this bucket instead, at AWS or a vendor with S3's protocol"),
    S3_REGION: z
      .string()
      .regex(/^[a-z0-9-]{1,63}$/i, "must be a region such as eu-central-1")
      .optional()
      .describe("the bucket's region, such as `eu-central-1`; other vendors often want `us-east-1`"),
    S3_ENDPOINT: url(/^https?$/, "https://storage.example.com")
      .optional()
      .describe(
        "another vendor's server, with buckets in the path, such as `https://storage.example.com`; default AWS",
      ),
    S3_ACCESS_KEY_ID: z
      .string()
      .optional()
      .describe("access key to the bucket; default the machine's own (AWS's variables, profiles and roles)"),
    S3_SECRET_ACCESS_KEY: z.string().optional().describe("the secret of `S3_ACCESS_KEY_ID`"),
    LOG_LEVEL: oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent")
      .default("info")
      .describe("least severe level that is logged"),
    LOG_SUCCESSES: ratio.describe(
      "share of the requests and jobs without an error that have a line in the log; a request's jobs go with it",
    ),
    LOG_PRETTY: flag.describe("`1` logs readable lines instead of JSON"),
    WEB_CONCURRENCY: count(1, 1, 64).describe("API processes that share the port"),
    WORKER_CONCURRENCY: perQueue.describe(
      "jobs that a worker process runs at once, by queue, in place of the defaults, such as `push=20,sms=5`",
    ),
    WORKER_METRICS_PORT: count(0, 0, 65_535).describe(
      "port where a worker process serves `/metrics` and `/healthz`; 0 for none",
    ),
    SIGNING_KEYS: secret("`npm run keys` makes one")
      .transform(
        shaped(
          parseSigningKeys,
          "a JSON array of private Ed25519 or P-256 JWKs, each with its own kid; `npm run keys` makes one",
        ),
      )
      .describe("private JWKs (JSON array) for access tokens; the first signs, all verify"),
    CREDENTIALS_KEYS: secret("`npm run keys` makes one")
      .transform(
        shaped(
          parseCredentialsKeys,
          "`id:base64` keys of 32 bytes, comma-separated, each with its own id; `npm run keys` makes one",
        ),
      )
      .describe("`id:base64` AES-256 keys, comma-separated, for secrets at rest; the first encrypts, all decrypt"),
    ADMIN_PHONES: list
      .refine(
        (phones) => phones.every((phone) => phonePattern.test(phone)),
        "must be phones such as +79991234567, comma-separated",
      )
      .describe("admins' phones, comma-separated"),
    OTP_FIXED_CODE: z
      .string()
      .regex(/^\d{6}$/, "must be 6 digits")
      .optional()
      .describe("development only: the code of every login"),
    OTP_SENDS_PER_ADDRESS: count(100).describe("codes sent per client address in 5 minutes"),
    OTP_SENDS_PER_PHONE: limit(
      "OTP_SENDS_PER_PHONE",
      "codes sent to a phone in a day, after which it gets one each half an hour",
    ),
    OTP_GUESSES_PER_ADDRESS: limit("OTP_GUESSES_PER_ADDRESS", "wrong codes per client address in 15 minutes"),
    OTP_SENDS_TOTAL: count(10_000).describe("codes sent by the whole deployment in 5 minutes (SMS pumping)"),
    REGISTRATIONS_PER_ADDRESS: limit(
      "REGISTRATIONS_PER_ADDRESS",
      "partners registered without a token per client address in an hour",
    ),
    SMS_SENDER: oneOf("log", "http")
      .optional()
      .describe(
        "`log` writes codes to the log (default outside production); `http`, required in production, calls a gateway",
      ),
    SMS_HTTP_URL: z.url().optional().describe("the gateway's address; `{phone}` and `{text}` are filled in"),
    SMS_HTTP_METHOD: oneOf("POST", "PUT", "GET").default("POST").describe("the gateway's method"),
    SMS_HTTP_HEADERS: z
      .string()
      .default("{}")
      .transform(shaped(parseHeaders, 'a JSON object of header names and values, such as {"Authorization":"Bearer …"}'))
      .describe("the gateway's headers, a JSON object"),
    SMS_HTTP_BODY: z
      .string()
      .default('{"to":"{phone}","text":"{text}"}')
      .describe("the gateway's body; `{phone}` and `{text}` are filled in, escaped for JSON"),
    VAPID_PUBLIC_KEY: z
      .string()
      .refine(isVapidPublicKey, "must be a point of P-256 in base64url, 87 characters; `npm run keys` makes one")
      .optional()
      .describe("public key that browsers subscribe to Web Push with; changing it voids every subscription"),
    VAPID_PRIVATE_KEY: z
      .string()
      .refine(isVapidPrivateKey, "must be 32 bytes in base64url, 43 characters; `npm run keys` makes one")
      .optional()
      .describe("private key of the pair, which signs messages to push services"),
    VAPID_SUBJECT: z
      .string()
      .regex(
        /^(mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/,
        "must be a mailto: or https: address, such as mailto:push@example.com",
      )
      .optional()
      .describe("contact for push services: a `mailto:` or `https:` address; default `PUBLIC_URL` where that is https"),
    FCM_SERVICE_ACCOUNT: z
      .string()
      .transform(
        shaped(
          parseServiceAccount,
          "the JSON key of a service account, with type, project_id, client_email and an RSA private_key",
        ),
      )
      .optional()
      .describe("the JSON key of a service account that may send through FCM, from the Firebase console"),
    FCM_URL: url(/^https?$/, "https://fcm.example.com")
      .default("https://fcm.googleapis.com")
      .describe("address of FCM, or of your own server with its protocol"),
    PUSH_SERVICES: list
      .refine(
        (hosts) => hosts.every((host) => /^[a-z0-9.-]+(:\d+)?$/.test(host)),
        "must be hosts such as push.example.com, comma-separated",
      )
      .describe(
        "further hosts of push services, besides those of the common browsers, that may take most of a worker's slots",
      ),
    CURRENCY: z
      .string()
      .regex(/^[A-Z]{3}$/, "must be an ISO 4217 code")
      .default("RUB")
      .describe("the deployment's one currency"),
    DEFAULT_TIMEZONE: zone
      .default("Europe/Moscow")
      .describe("time zone of schedules, and of users and cities without one"),
    CORS_ORIGINS: list
      .superRefine(matchable)
      .describe(
        "origins that browsers may call from, comma-separated, or `*`; `private`, outside production, is this machine and private networks",
      ),
    TRUST_PROXY: count(0, 0, 10).describe("how many proxies in front set X-Forwarded-For"),
    RATE_LIMIT_DISABLED: flag.describe(
      "`1` lifts the limits that count requests, except the 3 codes per phone (load tests)",
    ),
    RATE_LIMIT_USER: count(600).describe("requests a minute per user"),
    RATE_LIMIT_ADDRESS: count(1_200).describe("requests a minute per address without a token"),
    RATE_LIMIT_BANNERS: count(240).describe("reads of banners a minute per address"),
    RATE_LIMIT_WEBHOOKS: count(12_000).describe("calls of POS webhooks a minute per address"),
    LARGE_BODIES_AT_ONCE: count(4).describe(
      "bodies above 16 KB of one user, or of one address at webhooks, that an API process takes in at once; more wait unread",
    ),
    CHANGES_AT_ONCE: count(4).describe(
      "changes of one user, or of one address without a token, that an API process makes at once; further ones wait",
    ),
    ORDERS_OPEN_MAX: count(50).describe("orders a customer may have open at a time; after 3 no-shows in 30 days, one"),
    PROMO_GUESSES_USER: count(30).describe("unknown promo codes that a user may try in an hour"),
    PROMO_GUESSES_ADDRESS: count(300).describe("unknown promo codes that a client address may try in an hour"),
    AD_EVENTS_PER_MINUTE: count(30).describe(
      "impressions of a banner, or clicks on it, a minute that one user or address may cause; more are invalid traffic",
    ),
    AD_EVENTS_PER_DAY: count(500).describe("the same a day"),
    POINTS_PER_ORDER_MAX: count(10_000).describe("most loyalty points that one order earns"),
    POINTS_PER_DAY_MAX: count(20_000).describe("most loyalty points that a customer's orders earn in 24 hours"),
    BODY_SECONDS: count(20, 1, 300).describe(
      "how long a client may take to send the body of a request; a file may take 5 minutes",
    ),
    MAX_CONNECTIONS: count(10_000, 2).describe(
      "connections that an API process keeps open; without a proxy in front (`TRUST_PROXY`) one client address gets half of them",
    ),
    STREAMS_PER_USER: count(20).describe("live streams that a user may have open at an API process"),
    STREAMS_PER_ADDRESS: count(500).describe("the same of a client address without a token"),
    STREAMS_OPEN: count(8_000).describe(
      "live streams that an API process keeps open, about 20 kB each; other requests need connections besides (`MAX_CONNECTIONS`)",
    ),
    SYNC_WAIT_MS: count(10_000, 0, 60_000).describe(
      "how long a request waits for a worker's result before it answers 202",
    ),
    OPEN_UPLOADS: count(50).describe("uploads of one user that may be unfinished, or wait for their conversion"),
    OPEN_UPLOAD_BYTES: count(1_073_741_824, 1, 1_099_511_627_776).describe("their sizes together"),
    OPEN_IMPORTS: count(2).describe("menus as CSV of one partner that may wait or be imported"),
    MENU_ITEMS: count(50_000).describe("items of one menu, archived ones too, that may be made by hand and by CSV"),
    REPEATED_ROWS: count(10_000).describe(
      "rows of one CSV file that may name an item of another row close by; they are imported one by one",
    ),
    IMAGE_MEMORY_MB: count(1_024, 128, 65_536).describe(
      "memory that the conversion of one image may take (watched on Linux only); beyond it the image is refused",
    ),
    IMAGE_SECONDS: count(30, 1, 3_600).describe(
      "seconds of CPU time that the conversion of one image may take (watched on Linux only), within ten times as many seconds; beyond either the image is refused",
    ),
    MAX_UPLOAD_BYTES: count(104_857_600, 1, 1_073_741_824).describe("largest file that may be uploaded, in parts"),
    GEOCODER: oneOf("none", "openstreetmap", "yandex", "google")
      .default("none")
      .describe("geocoding provider: `openstreetmap`, `yandex`, `google` or `none`"),
    GEOCODER_KEY: z.string().optional().describe("the key for the geocoder; openstreetmap needs none"),
    GEOCODER_URL: url(/^https?$/, "https://nominatim.example.com")
      .optional()
      .describe("your own server with the geocoder's protocol, such as `https://maps.example.com/nominatim`"),
    GEOCODER_PER_SECOND: count(1, 1, 1_000).describe("calls to the geocoder per second, all processes together"),
    ALLOW_PRIVATE_ADDRESSES: flag.describe(
      "development only: `1` allows private addresses for POS systems and push services",
    ),
    POS_WEBHOOK_SECRETS: z
      .string()
      .default("{}")
      .transform(shaped(parseSecrets, 'a JSON object of lists of secrets, by provider, such as {"square":["…"]}'))
      .superRefine(known(adapterNames, "adapters"))
      .superRefine(longEnough)
      .describe(
        "secrets that providers sign webhooks with, a JSON object of lists; each of a list is accepted, so that they can be rotated",
      ),
    POS_SQUARE_URL: posUrl("https://connect.squareup.com").describe("Square's address; its sandbox has another"),
    POS_POSTER_URL: posUrl("https://joinposter.com").describe("Poster's address"),
    POS_IIKO_URL: posUrl("https://api-ru.iiko.services").describe("address of iiko's cloud"),
    OTEL_EXPORTER_OTLP_ENDPOINT: url(/^https?$/, "http://localhost:4318")
      .optional()
      .describe(
        "collector of traces that takes OTLP over HTTP, such as `http://localhost:4318`; without it there are none",
      ),
    OTEL_EXPORTER_OTLP_HEADERS: z
      .string()
      .default("")
      .transform(shaped(parsePairs, "a list such as authorization=Bearer%20…, comma-separated"))
      .describe("headers for the collector, such as `authorization=Bearer%20…`, comma-separated"),
    OTEL_TRACES_SAMPLER_ARG: ratio.describe("share of the traces that are kept, where the caller has not decided it"),
    METRICS_TOKEN: z
      .string()
      .min(8, "must be at least 8 characters")
      .optional()
      .describe(
        "bearer token that guards `/metrics`; required in production, where the proxy in front makes it public",
      ),
  })
  .describe("The environment of the service's processes");

export type Variables = z.output<typeof environment>;

export const partialEnvironment = environment.partial();
/** The variables that are well-formed, each for itself. */
export type SoundVariables = z.output<typeof partialEnvironment>;
