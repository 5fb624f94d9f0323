-- The schema of a migrated database, in the order of names: a diff of this file shows what a migration changes. The
-- reasons are in migrations/, the bodies of functions in functions/. `npm run schema` writes this file.

CREATE TYPE box_status AS ENUM (
  'ACTIVE',
  'SOLD_OUT',
  'EXPIRED'
);

CREATE TYPE bulk_action_kind AS ENUM (
  'REPLAY',
  'DISMISS',
  'RUN',
  'SNOOZE',
  'CANCEL'
);

CREATE TYPE bulk_action_state AS ENUM (
  'DEAD',
  'DUE',
  'WAITING',
  'PARKED'
);

CREATE TYPE campaign_status AS ENUM (
  'DRAFT',
  'ACTIVE',
  'PAUSED',
  'COMPLETED'
);

CREATE TYPE delivery_status AS ENUM (
  'SENDING',
  'SENT',
  'UNKNOWN',
  'LATER',
  'GONE',
  'FAILED'
);

CREATE TYPE device_platform AS ENUM (
  'ios',
  'android',
  'web'
);

CREATE TYPE export_status AS ENUM (
  'QUEUED',
  'READY',
  'FAILED'
);

CREATE TYPE file_status AS ENUM (
  'UPLOADING',
  'STORED',
  'READY',
  'REFUSED'
);

CREATE TYPE geocode_status AS ENUM (
  'ASKED',
  'FOUND',
  'NOT_FOUND',
  'FAILED'
);

CREATE TYPE item_source AS ENUM (
  'MANUAL',
  'CSV',
  'POS'
);

CREATE TYPE ledger_account AS ENUM (
  'TILL',
  'BALANCE',
  'BANK',
  'SALES',
  'PROMO',
  'COMMISSION',
  'ADJUSTMENTS'
);

CREATE TYPE ledger_kind AS ENUM (
  'SALE',
  'PROMO',
  'COMMISSION',
  'CORRECTION',
  'PAYOUT'
);

CREATE TYPE loyalty_kind AS ENUM (
  'ORDER',
  'REFERRED',
  'REFERRER'
);

CREATE TYPE matched_menu_row AS (
  place integer,
  category text,
  name text,
  price_minor bigint,
  external_id text,
  description text,
  weight_grams integer,
  available boolean,
  category_id uuid,
  item_id uuid,
  source item_source,
  differs boolean,
  clashes boolean
);

CREATE TYPE menu_import_status AS ENUM (
  'QUEUED',
  'RUNNING',
  'DONE',
  'FAILED'
);

CREATE TYPE menu_row AS (
  category text,
  name text,
  price_minor bigint,
  external_id text,
  description text,
  weight_grams integer,
  available boolean
);

CREATE TYPE notification_status AS ENUM (
  'QUEUED',
  'DEFERRED',
  'SENT',
  'FAILED',
  'DROPPED'
);

CREATE TYPE order_actor AS ENUM (
  'CUSTOMER',
  'PARTNER',
  'SERVICE'
);

CREATE TYPE order_status AS ENUM (
  'ACCEPTED',
  'READY',
  'COMPLETED',
  'CANCELLED',
  'NO_SHOW'
);

CREATE TYPE partner_status AS ENUM (
  'PENDING_REVIEW',
  'ACTIVE',
  'REJECTED',
  'SUSPENDED'
);

CREATE TYPE pos_event_status AS ENUM (
  'QUEUED',
  'PROCESSED',
  'PARKED'
);

CREATE TYPE pos_sync_failure AS ENUM (
  'REFUSED',
  'UNAVAILABLE',
  'TOO_LARGE',
  'REPLACED',
  'ABANDONED',
  'EMPTY'
);

CREATE TYPE pos_sync_status AS ENUM (
  'QUEUED',
  'RUNNING',
  'DONE',
  'FAILED'
);

CREATE TYPE process_role AS ENUM (
  'API',
  'WORKER'
);

CREATE TYPE review_status AS ENUM (
  'PUBLISHED',
  'PENDING',
  'APPROVED',
  'REJECTED'
);

CREATE TYPE webhook_status AS ENUM (
  'PENDING',
  'SENT',
  'FAILED'
);

CREATE TYPE webhook_stop AS ENUM (
  'BY_OWNER',
  'BY_OPERATOR',
  'GONE',
  'FAILING'
);

CREATE TABLE action_counts (
  action text NOT NULL,
  times integer NOT NULL,
  ends_at timestamp with time zone NOT NULL,
  CONSTRAINT action_counts_pkey PRIMARY KEY (action)
);
CREATE INDEX action_counts_by_end ON action_counts USING btree (ends_at);

CREATE TABLE ad_banner_days (
  banner_id uuid NOT NULL,
  day date NOT NULL,
  campaign_id uuid NOT NULL,
  impressions bigint NOT NULL,
  clicks bigint NOT NULL,
  invalid_impressions bigint NOT NULL,
  invalid_clicks bigint NOT NULL,
  spent_micro bigint NOT NULL,
  CONSTRAINT ad_banner_days_banner_id_fkey FOREIGN KEY (banner_id) REFERENCES ad_banners(id),
  CONSTRAINT ad_banner_days_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES ad_campaigns(id),
  CONSTRAINT ad_banner_days_clicks_check CHECK (clicks >= 0),
  CONSTRAINT ad_banner_days_impressions_check CHECK (impressions >= 0),
  CONSTRAINT ad_banner_days_invalid_clicks_check CHECK (invalid_clicks >= 0),
  CONSTRAINT ad_banner_days_invalid_impressions_check CHECK (invalid_impressions >= 0),
  CONSTRAINT ad_banner_days_pkey PRIMARY KEY (banner_id, day),
  CONSTRAINT ad_banner_days_spent_micro_check CHECK (spent_micro >= 0)
) WITH (fillfactor=70);
CREATE INDEX ad_banner_days_by_campaign ON ad_banner_days USING btree (campaign_id, day);

CREATE TABLE ad_banners (
  id uuid DEFAULT new_id() NOT NULL,
  campaign_id uuid NOT NULL,
  image text,
  image_url text,
  link text NOT NULL,
  placement text NOT NULL,
  locale text,
  city_id text,
  starts_at timestamp with time zone NOT NULL,
  ends_at timestamp with time zone NOT NULL,
  weight integer DEFAULT 1 NOT NULL,
  impressions bigint DEFAULT 0 NOT NULL,
  clicks bigint DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  deleted_at timestamp with time zone,
  CONSTRAINT ad_banners_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES ad_campaigns(id),
  CONSTRAINT ad_banners_check CHECK (ends_at > starts_at),
  CONSTRAINT ad_banners_check1 CHECK ((image IS NULL) <> (image_url IS NULL)),
  CONSTRAINT ad_banners_clicks_check CHECK (clicks >= 0),
  CONSTRAINT ad_banners_image_fkey FOREIGN KEY (image) REFERENCES files(name),
  CONSTRAINT ad_banners_impressions_check CHECK (impressions >= 0),
  CONSTRAINT ad_banners_pkey PRIMARY KEY (id),
  CONSTRAINT ad_banners_weight_check CHECK (weight >= 1 AND weight <= 100)
) WITH (fillfactor=70);
CREATE INDEX ad_banners_by_campaign ON ad_banners USING btree (campaign_id, id);
CREATE INDEX ad_banners_by_change ON ad_banners USING btree (updated_at);
CREATE INDEX ad_banners_by_end ON ad_banners USING btree (ends_at);
CREATE INDEX ad_banners_by_image ON ad_banners USING btree (image) WHERE image IS NOT NULL;
CREATE INDEX ad_banners_by_start ON ad_banners USING btree (starts_at);
CREATE INDEX ad_banners_on_show ON ad_banners USING btree (placement, ends_at) WHERE deleted_at IS NULL;

CREATE TABLE ad_batches (
  id uuid NOT NULL,
  day date NOT NULL,
  banner_ids uuid[] NOT NULL,
  impressions integer[] NOT NULL,
  clicks integer[] NOT NULL,
  invalid_impressions integer[] NOT NULL,
  invalid_clicks integer[] NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  applied_at timestamp with time zone,
  CONSTRAINT ad_batches_check CHECK (cardinality(impressions) = cardinality(banner_ids) AND cardinality(clicks) = cardinality(banner_ids)),
  CONSTRAINT ad_batches_check1 CHECK (cardinality(invalid_impressions) = cardinality(banner_ids) AND cardinality(invalid_clicks) = cardinality(banner_ids)),
  CONSTRAINT ad_batches_pkey PRIMARY KEY (id)
);
CREATE INDEX ad_batches_applied ON ad_batches USING btree (applied_at) WHERE applied_at IS NOT NULL;
CREATE INDEX ad_batches_waiting ON ad_batches USING btree (created_at) WHERE applied_at IS NULL;

CREATE TABLE ad_campaigns (
  id uuid DEFAULT new_id() NOT NULL,
  name text NOT NULL,
  placements text[] NOT NULL,
  budget_minor bigint NOT NULL,
  cpm_minor bigint,
  status campaign_status DEFAULT 'DRAFT'::campaign_status NOT NULL,
  starts_at timestamp with time zone,
  ends_at timestamp with time zone,
  impressions bigint DEFAULT 0 NOT NULL,
  clicks bigint DEFAULT 0 NOT NULL,
  spent_micro bigint DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
  CONSTRAINT ad_campaigns_budget_minor_check CHECK (budget_minor >= 0),
  CONSTRAINT ad_campaigns_check CHECK (ends_at > starts_at),
  CONSTRAINT ad_campaigns_check1 CHECK (spent_micro >= 0 AND spent_micro <= (budget_minor * 10000)),
  CONSTRAINT ad_campaigns_clicks_check CHECK (clicks >= 0),
  CONSTRAINT ad_campaigns_cpm_minor_check CHECK (cpm_minor >= 0),
  CONSTRAINT ad_campaigns_impressions_check CHECK (impressions >= 0),
  CONSTRAINT ad_campaigns_pkey PRIMARY KEY (id),
  CONSTRAINT ad_campaigns_placements_check CHECK (cardinality(placements) >= 1 AND cardinality(placements) <= 20)
) WITH (fillfactor=70);
CREATE INDEX ad_campaigns_by_change ON ad_campaigns USING btree (updated_at);
CREATE INDEX ad_campaigns_by_end ON ad_campaigns USING btree (ends_at);
CREATE INDEX ad_campaigns_by_start ON ad_campaigns USING btree (starts_at);
CREATE INDEX ad_campaigns_by_status ON ad_campaigns USING btree (status, id);
CREATE INDEX ad_campaigns_to_complete ON ad_campaigns USING btree (status, ends_at);
CREATE TRIGGER note_event AFTER UPDATE OF status ON ad_campaigns FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status AND new.status = 'COMPLETED'::campaign_status) EXECUTE FUNCTION note_event();

CREATE TABLE api_keys (
  id uuid DEFAULT new_id() NOT NULL,
  name text NOT NULL,
  digest bytea NOT NULL,
  scopes text[] NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT api_keys_digest_check CHECK (length(digest) = 32),
  CONSTRAINT api_keys_digest_key UNIQUE (digest),
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_scopes_check CHECK (cardinality(scopes) > 0 AND scopes <@ '{ads:read,events:read,geo:write,ops:read,webhooks:write}'::text[])
);

CREATE TABLE audit_events (
  id uuid DEFAULT new_id() NOT NULL,
  actor_id uuid,
  action text NOT NULL,
  subject_id uuid,
  details jsonb DEFAULT '{}'::jsonb NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT audit_events_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES users(id),
  CONSTRAINT audit_events_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_events_by_action ON audit_events USING btree (action, id);
CREATE INDEX audit_events_by_actor ON audit_events USING btree (actor_id, id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_events_by_subject ON audit_events USING btree (subject_id, id);

CREATE TABLE box_items (
  box_id uuid NOT NULL,
  menu_item_id uuid NOT NULL,
  qty integer NOT NULL,
  CONSTRAINT box_items_box_id_fkey FOREIGN KEY (box_id) REFERENCES boxes(id) ON DELETE CASCADE,
  CONSTRAINT box_items_menu_item_id_fkey FOREIGN KEY (menu_item_id) REFERENCES menu_items(id),
  CONSTRAINT box_items_pkey PRIMARY KEY (box_id, menu_item_id),
  CONSTRAINT box_items_qty_check CHECK (qty >= 1 AND qty <= 100)
);
CREATE INDEX box_items_by_menu_item ON box_items USING btree (menu_item_id);

CREATE TABLE boxes (
  id uuid DEFAULT new_id() NOT NULL,
  partner_id uuid NOT NULL,
  city_id text NOT NULL,
  title text NOT NULL,
  description text,
  image text,
  price_minor bigint NOT NULL,
  original_price_minor bigint,
  lowest_price_minor bigint,
  weight_grams integer,
  quantity_available integer NOT NULL,
  quantity_reserved integer DEFAULT 0 NOT NULL,
  max_per_customer integer,
  pickup_window_start timestamp with time zone NOT NULL,
  pickup_window_end timestamp with time zone NOT NULL,
  status box_status DEFAULT 'ACTIVE'::box_status NOT NULL,
  hidden_at timestamp with time zone,
  deleted_at timestamp with time zone,
  repeat_days smallint[],
  repeat_until date,
  repeats_id uuid,
  repeats_on date,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT boxes_check CHECK (original_price_minor >= price_minor),
  CONSTRAINT boxes_check1 CHECK (pickup_window_end > pickup_window_start),
  CONSTRAINT boxes_check2 CHECK ((repeat_days IS NULL) = (repeat_until IS NULL)),
  CONSTRAINT boxes_image_fkey FOREIGN KEY (image) REFERENCES files(name),
  CONSTRAINT boxes_lowest_price_minor_check CHECK (lowest_price_minor >= 0),
  CONSTRAINT boxes_max_per_customer_check CHECK (max_per_customer > 0),
  CONSTRAINT boxes_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT boxes_pkey PRIMARY KEY (id),
  CONSTRAINT boxes_price_minor_check CHECK (price_minor >= 0),
  CONSTRAINT boxes_quantity_available_check CHECK (quantity_available >= 0),
  CONSTRAINT boxes_quantity_reserved_check CHECK (quantity_reserved >= 0),
  CONSTRAINT boxes_repeat_days_check CHECK (repeat_days <@ '{1,2,3,4,5,6,7}'::smallint[] AND cardinality(repeat_days) > 0),
  CONSTRAINT boxes_repeats_id_fkey FOREIGN KEY (repeats_id) REFERENCES boxes(id),
  CONSTRAINT boxes_weight_grams_check CHECK (weight_grams > 0)
);
COMMENT ON COLUMN boxes.lowest_price_minor IS 'The price when it was listed, or a lower one since that users were notified of; null before its first change.';
CREATE INDEX boxes_by_image ON boxes USING btree (image) WHERE image IS NOT NULL;
CREATE INDEX boxes_by_partner ON boxes USING btree (partner_id, id);
CREATE INDEX boxes_on_offer ON boxes USING btree (partner_id, id) WHERE status <> 'EXPIRED'::box_status AND hidden_at IS NULL;
CREATE UNIQUE INDEX boxes_repeated_once ON boxes USING btree (repeats_id, repeats_on) WHERE repeats_id IS NOT NULL;
CREATE INDEX boxes_repeating ON boxes USING btree (repeat_until) WHERE repeat_days IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX boxes_to_expire ON boxes USING btree (pickup_window_end) WHERE status <> 'EXPIRED'::box_status;
CREATE INDEX boxes_to_pick_up ON boxes USING btree (pickup_window_start, id) WHERE status = 'ACTIVE'::box_status AND hidden_at IS NULL;
CREATE INDEX boxes_to_pick_up_in_city ON boxes USING btree (city_id, pickup_window_start, id) WHERE status = 'ACTIVE'::box_status AND hidden_at IS NULL;
CREATE TRIGGER note_event_of_change AFTER UPDATE OF title, description, price_minor, original_price_minor, weight_grams, max_per_customer, pickup_window_start, pickup_window_end, image, hidden_at ON boxes FOR EACH ROW EXECUTE FUNCTION note_event();
CREATE TRIGGER note_event_of_status AFTER UPDATE OF status ON boxes FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status) EXECUTE FUNCTION note_event();
CREATE TRIGGER note_rollup_change AFTER INSERT ON boxes FOR EACH ROW EXECUTE FUNCTION note_rollup_change();
CREATE TRIGGER note_weight_change AFTER UPDATE OF weight_grams ON boxes FOR EACH ROW WHEN (old.weight_grams IS DISTINCT FROM new.weight_grams) EXECUTE FUNCTION note_weight_change();

CREATE TABLE bulk_actions (
  id uuid DEFAULT new_id() NOT NULL,
  kind bulk_action_kind NOT NULL,
  state bulk_action_state NOT NULL,
  queue text,
  error text,
  staged_from timestamp with time zone,
  staged_before timestamp with time zone,
  min_attempts integer,
  argument jsonb,
  partner_id uuid,
  until timestamp with time zone,
  why text NOT NULL,
  matched integer NOT NULL,
  changed integer DEFAULT 0 NOT NULL,
  position bigint DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  started_at timestamp with time zone,
  settled_at timestamp with time zone,
  stopped_why text,
  CONSTRAINT bulk_actions_changed_check CHECK (changed >= 0),
  CONSTRAINT bulk_actions_check CHECK (stopped_why IS NULL OR settled_at IS NOT NULL),
  CONSTRAINT bulk_actions_check1 CHECK ((kind = 'SNOOZE'::bulk_action_kind) = (until IS NOT NULL)),
  CONSTRAINT bulk_actions_check2 CHECK ((state = ANY (ARRAY['DEAD'::bulk_action_state, 'PARKED'::bulk_action_state])) = (kind = ANY (ARRAY['REPLAY'::bulk_action_kind, 'DISMISS'::bulk_action_kind]))),
  CONSTRAINT bulk_actions_check3 CHECK (
CASE
    WHEN state = 'PARKED'::bulk_action_state THEN queue IS NULL AND argument IS NULL
    ELSE partner_id IS NULL
END),
  CONSTRAINT bulk_actions_matched_check CHECK (matched >= 0),
  CONSTRAINT bulk_actions_pkey PRIMARY KEY (id)
);
CREATE INDEX bulk_actions_open ON bulk_actions USING btree (id) WHERE settled_at IS NULL;

CREATE TABLE cities (
  id text NOT NULL,
  name text NOT NULL,
  timezone text NOT NULL,
  named_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT cities_id_check CHECK (id ~ '^[A-Za-z0-9_.:-]{1,64}$'::text),
  CONSTRAINT cities_pkey PRIMARY KEY (id)
);

CREATE TABLE commission_rates (
  partner_id uuid,
  rate_percent numeric(5,2) NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT commission_rates_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT commission_rates_partner_id_key UNIQUE NULLS NOT DISTINCT (partner_id),
  CONSTRAINT commission_rates_rate_percent_check CHECK (rate_percent >= 0::numeric AND rate_percent <= 100::numeric)
);

CREATE TABLE data_exports (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid NOT NULL,
  name text NOT NULL,
  status export_status DEFAULT 'QUEUED'::export_status NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  settled_at timestamp with time zone,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT data_exports_check CHECK ((status = 'QUEUED'::export_status) = (settled_at IS NULL)),
  CONSTRAINT data_exports_name_key UNIQUE (name),
  CONSTRAINT data_exports_pkey PRIMARY KEY (id),
  CONSTRAINT data_exports_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX data_exports_by_expiry ON data_exports USING btree (expires_at);
CREATE INDEX data_exports_by_user ON data_exports USING btree (user_id, id);

CREATE TABLE devices (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid NOT NULL,
  platform device_platform NOT NULL,
  address text NOT NULL,
  address_digest bytea NOT NULL,
  p256dh text,
  auth text,
  locale text NOT NULL,
  unanswered integer DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT devices_address_digest_check CHECK (length(address_digest) = 32),
  CONSTRAINT devices_address_digest_key UNIQUE (address_digest),
  CONSTRAINT devices_check CHECK ((p256dh IS NULL) = (auth IS NULL)),
  CONSTRAINT devices_check1 CHECK (platform = 'web'::device_platform OR p256dh IS NULL),
  CONSTRAINT devices_pkey PRIMARY KEY (id),
  CONSTRAINT devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX devices_by_user ON devices USING btree (user_id, updated_at);

CREATE TABLE event_log (
  only_row boolean DEFAULT true NOT NULL,
  last_position bigint DEFAULT 0 NOT NULL,
  dropped_position bigint DEFAULT 0 NOT NULL,
  server text,
  CONSTRAINT event_log_only_row_check CHECK (only_row),
  CONSTRAINT event_log_pkey PRIMARY KEY (only_row)
);

CREATE TABLE events (
  position bigint NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  version smallint NOT NULL,
  partner_id uuid,
  at timestamp with time zone NOT NULL,
  data jsonb NOT NULL,
  CONSTRAINT events_pkey PRIMARY KEY ("position")
) PARTITION BY RANGE ("position");
CREATE INDEX events_by_partner ON ONLY events USING btree (partner_id, "position") WHERE partner_id IS NOT NULL;

CREATE TABLE favorites (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid NOT NULL,
  box_id uuid,
  partner_id uuid,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT favorites_box_id_fkey FOREIGN KEY (box_id) REFERENCES boxes(id),
  CONSTRAINT favorites_check CHECK (num_nonnulls(box_id, partner_id) = 1),
  CONSTRAINT favorites_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT favorites_pkey PRIMARY KEY (id),
  CONSTRAINT favorites_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX favorites_by_box ON favorites USING btree (box_id, id) WHERE box_id IS NOT NULL;
CREATE INDEX favorites_by_partner ON favorites USING btree (partner_id, id) WHERE partner_id IS NOT NULL;
CREATE INDEX favorites_by_user ON favorites USING btree (user_id, id);
CREATE UNIQUE INDEX favorites_once ON favorites USING btree (user_id, COALESCE(box_id, partner_id));

CREATE TABLE files (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid NOT NULL,
  name text NOT NULL,
  status file_status DEFAULT 'UPLOADING'::file_status NOT NULL,
  content_type text NOT NULL,
  size bigint,
  width integer,
  height integer,
  upload_id text,
  least_size bigint,
  expires_at timestamp with time zone,
  unused_since timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  settled_at timestamp with time zone,
  CONSTRAINT files_check CHECK ((status = 'UPLOADING'::file_status) = (expires_at IS NOT NULL)),
  CONSTRAINT files_check1 CHECK ((status = ANY (ARRAY['READY'::file_status, 'REFUSED'::file_status])) = (settled_at IS NOT NULL)),
  CONSTRAINT files_check2 CHECK (status = 'UPLOADING'::file_status OR size IS NOT NULL),
  CONSTRAINT files_height_check CHECK (height > 0),
  CONSTRAINT files_least_size_check CHECK (least_size >= 0),
  CONSTRAINT files_name_key UNIQUE (name),
  CONSTRAINT files_pkey PRIMARY KEY (id),
  CONSTRAINT files_size_check CHECK (size >= 0),
  CONSTRAINT files_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT files_width_check CHECK (width > 0)
);
CREATE INDEX files_by_user ON files USING btree (user_id, id);
CREATE INDEX files_documents_of_user ON files USING btree (user_id) INCLUDE (size) WHERE content_type = 'application/pdf'::text AND status = 'READY'::file_status;
CREATE INDEX files_open_of_user ON files USING btree (user_id) WHERE status = ANY (ARRAY['UPLOADING'::file_status, 'STORED'::file_status]);
CREATE INDEX files_refused ON files USING btree (settled_at) WHERE status = 'REFUSED'::file_status;
CREATE INDEX files_unfinished ON files USING btree (expires_at) WHERE status = 'UPLOADING'::file_status;
CREATE INDEX files_unsettled ON files USING btree (created_at) WHERE status = 'STORED'::file_status;
CREATE INDEX files_unused ON files USING btree (unused_since) WHERE unused_since IS NOT NULL;
CREATE TRIGGER note_event AFTER UPDATE OF status ON files FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status AND new.status = 'READY'::file_status) EXECUTE FUNCTION note_event();

CREATE TABLE geocoder_pace (
  only_row boolean DEFAULT true NOT NULL,
  next_at timestamp with time zone NOT NULL,
  CONSTRAINT geocoder_pace_only_row_check CHECK (only_row),
  CONSTRAINT geocoder_pace_pkey PRIMARY KEY (only_row)
);

CREATE TABLE geocodes (
  id uuid DEFAULT new_id() NOT NULL,
  address_key text NOT NULL,
  address text NOT NULL,
  status geocode_status DEFAULT 'ASKED'::geocode_status NOT NULL,
  latitude double precision,
  longitude double precision,
  job_id bigint,
  asked_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone,
  claimed_until timestamp with time zone,
  CONSTRAINT geocodes_address_key_key UNIQUE (address_key),
  CONSTRAINT geocodes_check CHECK ((status = 'FOUND'::geocode_status) = (latitude IS NOT NULL AND longitude IS NOT NULL)),
  CONSTRAINT geocodes_check1 CHECK ((status = ANY (ARRAY['FOUND'::geocode_status, 'NOT_FOUND'::geocode_status])) = (expires_at IS NOT NULL)),
  CONSTRAINT geocodes_pkey PRIMARY KEY (id)
);
CREATE INDEX geocodes_by_age ON geocodes USING btree (asked_at);
CREATE INDEX geocodes_waiting ON geocodes USING btree (job_id) WHERE status = 'ASKED'::geocode_status;

CREATE TABLE heartbeats (
  name text NOT NULL,
  beat_at timestamp with time zone NOT NULL,
  CONSTRAINT heartbeats_pkey PRIMARY KEY (name)
);

CREATE TABLE idempotency_keys (
  user_id uuid NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  order_id uuid NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT idempotency_keys_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys USING btree (created_at);

CREATE TABLE ledger_balances (
  partner_id uuid NOT NULL,
  balance_minor bigint DEFAULT 0 NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT ledger_balances_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT ledger_balances_pkey PRIMARY KEY (partner_id)
);
CREATE INDEX ledger_balances_of_creditors ON ledger_balances USING btree (partner_id) WHERE balance_minor > 0;
CREATE INDEX ledger_balances_of_debtors ON ledger_balances USING btree (partner_id) WHERE balance_minor < 0;

CREATE TABLE ledger_entries (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  transaction_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  account ledger_account NOT NULL,
  kind ledger_kind NOT NULL,
  amount_minor bigint NOT NULL,
  month date NOT NULL,
  occurred_at timestamp with time zone NOT NULL,
  booked_at timestamp with time zone DEFAULT now() NOT NULL,
  order_id uuid,
  event_id uuid,
  reference text,
  reason text,
  CONSTRAINT ledger_entries_month_check CHECK (EXTRACT(day FROM month) = 1::numeric),
  CONSTRAINT ledger_entries_pkey PRIMARY KEY (id)
);
CREATE INDEX ledger_entries_by_partner ON ledger_entries USING btree (partner_id, month, id) INCLUDE (account, kind, amount_minor, occurred_at);
CREATE UNIQUE INDEX ledger_entries_by_reference ON ledger_entries USING btree (partner_id, kind, reference) WHERE reference IS NOT NULL AND account = 'BALANCE'::ledger_account;
CREATE UNIQUE INDEX ledger_entries_once ON ledger_entries USING btree (transaction_id, account, kind);
CREATE TRIGGER check_ledger AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION check_ledger();
CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE ledger_state (
  only_row boolean DEFAULT true NOT NULL,
  position bigint DEFAULT 0 NOT NULL,
  open_month date DEFAULT (date_trunc('month'::text, now()) - '1 mon'::interval)::date NOT NULL,
  next_month date DEFAULT (date_trunc('month'::text, now()) - '1 mon'::interval)::date NOT NULL,
  last_number bigint DEFAULT 0 NOT NULL,
  last_extract bigint DEFAULT 0 NOT NULL,
  CONSTRAINT ledger_state_only_row_check CHECK (only_row),
  CONSTRAINT ledger_state_pkey PRIMARY KEY (only_row)
);

CREATE TABLE loyalty_accounts (
  user_id uuid NOT NULL,
  points integer DEFAULT 0 NOT NULL,
  food_saved_grams bigint DEFAULT 0 NOT NULL,
  orders_completed integer DEFAULT 0 NOT NULL,
  referral_code text NOT NULL,
  referrer_id uuid,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT loyalty_accounts_check CHECK (referrer_id <> user_id),
  CONSTRAINT loyalty_accounts_food_saved_grams_check CHECK (food_saved_grams >= 0),
  CONSTRAINT loyalty_accounts_orders_completed_check CHECK (orders_completed >= 0),
  CONSTRAINT loyalty_accounts_pkey PRIMARY KEY (user_id),
  CONSTRAINT loyalty_accounts_points_check CHECK (points >= 0),
  CONSTRAINT loyalty_accounts_referral_code_key UNIQUE (referral_code),
  CONSTRAINT loyalty_accounts_referrer_id_fkey FOREIGN KEY (referrer_id) REFERENCES users(id),
  CONSTRAINT loyalty_accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX loyalty_accounts_by_referrer ON loyalty_accounts USING btree (referrer_id) WHERE referrer_id IS NOT NULL;

CREATE TABLE loyalty_entries (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid NOT NULL,
  kind loyalty_kind NOT NULL,
  points integer NOT NULL,
  grams bigint DEFAULT 0 NOT NULL,
  order_id uuid,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT loyalty_entries_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT loyalty_entries_pkey PRIMARY KEY (id),
  CONSTRAINT loyalty_entries_user_id_fkey FOREIGN KEY (user_id) REFERENCES loyalty_accounts(user_id)
);
CREATE INDEX loyalty_entries_by_user ON loyalty_entries USING btree (user_id, id);
CREATE UNIQUE INDEX loyalty_entries_once_per_order ON loyalty_entries USING btree (order_id, kind) WHERE order_id IS NOT NULL;
CREATE UNIQUE INDEX loyalty_entries_once_referred ON loyalty_entries USING btree (user_id) WHERE kind = 'REFERRED'::loyalty_kind;

CREATE TABLE menu_categories (
  id uuid DEFAULT new_id() NOT NULL,
  partner_id uuid NOT NULL,
  name text NOT NULL,
  CONSTRAINT menu_categories_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT menu_categories_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX menu_categories_by_name ON menu_categories USING btree (partner_id, lower(name));

CREATE TABLE menu_imports (
  id uuid DEFAULT new_id() NOT NULL,
  partner_id uuid NOT NULL,
  status menu_import_status DEFAULT 'QUEUED'::menu_import_status NOT NULL,
  job_id bigint,
  file_key text NOT NULL,
  size bigint NOT NULL,
  columns text[] NOT NULL,
  delimiter text NOT NULL,
  position bigint NOT NULL,
  lines integer NOT NULL,
  rows_created integer DEFAULT 0 NOT NULL,
  rows_updated integer DEFAULT 0 NOT NULL,
  rows_failed integer DEFAULT 0 NOT NULL,
  rows_repeated integer DEFAULT 0 NOT NULL,
  errors jsonb DEFAULT '[]'::jsonb NOT NULL,
  failure text,
  failure_line integer,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  started_at timestamp with time zone,
  settled_at timestamp with time zone,
  CONSTRAINT menu_imports_check CHECK ("position" >= 0 AND "position" <= size),
  CONSTRAINT menu_imports_check1 CHECK ((status = ANY (ARRAY['DONE'::menu_import_status, 'FAILED'::menu_import_status])) = (settled_at IS NOT NULL)),
  CONSTRAINT menu_imports_check2 CHECK ((status = 'FAILED'::menu_import_status) = (failure IS NOT NULL)),
  CONSTRAINT menu_imports_columns_check CHECK (cardinality(columns) > 0),
  CONSTRAINT menu_imports_delimiter_check CHECK (delimiter = ANY (ARRAY[','::text, ';'::text])),
  CONSTRAINT menu_imports_failure_line_check CHECK (failure_line > 0),
  CONSTRAINT menu_imports_file_key_key UNIQUE (file_key),
  CONSTRAINT menu_imports_lines_check CHECK (lines >= 0),
  CONSTRAINT menu_imports_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT menu_imports_pkey PRIMARY KEY (id),
  CONSTRAINT menu_imports_rows_created_check CHECK (rows_created >= 0),
  CONSTRAINT menu_imports_rows_failed_check CHECK (rows_failed >= 0),
  CONSTRAINT menu_imports_rows_repeated_check CHECK (rows_repeated >= 0),
  CONSTRAINT menu_imports_rows_updated_check CHECK (rows_updated >= 0),
  CONSTRAINT menu_imports_size_check CHECK (size > 0)
);
CREATE INDEX menu_imports_by_age ON menu_imports USING btree (created_at) WHERE settled_at IS NOT NULL;
CREATE INDEX menu_imports_by_partner ON menu_imports USING btree (partner_id, id);
CREATE UNIQUE INDEX menu_imports_running ON menu_imports USING btree (partner_id) WHERE status = 'RUNNING'::menu_import_status;
CREATE INDEX menu_imports_unsettled ON menu_imports USING btree (id) WHERE settled_at IS NULL;
CREATE TRIGGER note_event AFTER UPDATE OF status ON menu_imports FOR EACH ROW WHEN (old.settled_at IS NULL AND new.settled_at IS NOT NULL) EXECUTE FUNCTION note_event();

CREATE TABLE menu_items (
  id uuid DEFAULT new_id() NOT NULL,
  partner_id uuid NOT NULL,
  category_id uuid NOT NULL,
  name text NOT NULL,
  description text,
  price_minor bigint NOT NULL,
  weight_grams integer,
  available boolean DEFAULT true NOT NULL,
  source item_source DEFAULT 'MANUAL'::item_source NOT NULL,
  external_id text,
  archived_at timestamp with time zone,
  archived_by_sync boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT menu_items_category_id_fkey FOREIGN KEY (category_id) REFERENCES menu_categories(id),
  CONSTRAINT menu_items_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT menu_items_pkey PRIMARY KEY (id),
  CONSTRAINT menu_items_price_minor_check CHECK (price_minor >= 0),
  CONSTRAINT menu_items_weight_grams_check CHECK (weight_grams > 0)
);
CREATE UNIQUE INDEX menu_items_by_key ON menu_items USING btree (menu_item_key(partner_id, external_id));
CREATE INDEX menu_items_by_name ON menu_items USING btree (category_id, lower(name), (archived_at IS NOT NULL), (source = 'POS'::item_source), external_id NULLS FIRST, id);
CREATE INDEX menu_items_by_name_without_key ON menu_items USING btree (category_id, lower(name), (source = 'POS'::item_source), (archived_at IS NOT NULL), id) WHERE external_id IS NULL;
CREATE INDEX menu_items_by_partner ON menu_items USING btree (partner_id, id);
CREATE TRIGGER note_events AFTER UPDATE ON menu_items REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_events_of_menu();
CREATE TRIGGER note_weight_change AFTER UPDATE OF weight_grams ON menu_items FOR EACH ROW WHEN (old.weight_grams IS DISTINCT FROM new.weight_grams) EXECUTE FUNCTION note_weight_change();

CREATE TABLE new_events (
  written bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  id uuid DEFAULT new_id() NOT NULL,
  type text NOT NULL,
  version smallint DEFAULT 1 NOT NULL,
  partner_id uuid,
  at timestamp with time zone DEFAULT now() NOT NULL,
  data jsonb NOT NULL,
  CONSTRAINT new_events_pkey PRIMARY KEY (written)
);

CREATE TABLE notification_deliveries (
  notification_id uuid NOT NULL,
  address_digest bytea NOT NULL,
  device_id uuid NOT NULL,
  platform device_platform NOT NULL,
  status delivery_status DEFAULT 'SENDING'::delivery_status NOT NULL,
  reason text,
  claim uuid DEFAULT gen_random_uuid() NOT NULL,
  attempts integer DEFAULT 1 NOT NULL,
  started_at timestamp with time zone DEFAULT now() NOT NULL,
  ended_at timestamp with time zone,
  CONSTRAINT notification_deliveries_address_digest_check CHECK (length(address_digest) = 32),
  CONSTRAINT notification_deliveries_attempts_check CHECK (attempts >= 0),
  CONSTRAINT notification_deliveries_notification_id_fkey FOREIGN KEY (notification_id) REFERENCES notifications(id) ON DELETE CASCADE,
  CONSTRAINT notification_deliveries_pkey PRIMARY KEY (notification_id, address_digest)
);

CREATE TABLE notification_preferences (
  user_id uuid NOT NULL,
  push boolean NOT NULL,
  sms boolean NOT NULL,
  email boolean NOT NULL,
  marketing boolean NOT NULL,
  quiet_hours_start time(0) without time zone NOT NULL,
  quiet_hours_end time(0) without time zone NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT notification_preferences_pkey PRIMARY KEY (user_id),
  CONSTRAINT notification_preferences_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);

CREATE TABLE notifications (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid NOT NULL,
  kind text NOT NULL,
  order_id uuid,
  partner_id uuid,
  box_id uuid,
  facts jsonb DEFAULT '{}'::jsonb NOT NULL,
  status notification_status DEFAULT 'QUEUED'::notification_status NOT NULL,
  reason text,
  expires_at timestamp with time zone,
  read_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  settled_at timestamp with time zone,
  CONSTRAINT notifications_box_id_fkey FOREIGN KEY (box_id) REFERENCES boxes(id),
  CONSTRAINT notifications_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT notifications_pkey PRIMARY KEY (id),
  CONSTRAINT notifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX notifications_by_box_and_user ON notifications USING btree (box_id, user_id, id) WHERE box_id IS NOT NULL;
CREATE INDEX notifications_by_user ON notifications USING btree (user_id, id);
CREATE UNIQUE INDEX notifications_once_per_order ON notifications USING btree (order_id, user_id, kind) WHERE order_id IS NOT NULL;
CREATE INDEX notifications_unread ON notifications USING btree (user_id, id) WHERE read_at IS NULL;

CREATE TABLE order_events (
  order_id uuid NOT NULL,
  position integer NOT NULL,
  actor_role order_actor NOT NULL,
  actor_id uuid,
  from_status order_status,
  to_status order_status NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT order_events_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT order_events_pkey PRIMARY KEY (order_id, "position")
);

CREATE TABLE order_items (
  order_id uuid NOT NULL,
  position integer NOT NULL,
  menu_item_id uuid,
  box_id uuid,
  name text NOT NULL,
  price_minor bigint NOT NULL,
  qty integer NOT NULL,
  CONSTRAINT order_items_box_id_fkey FOREIGN KEY (box_id) REFERENCES boxes(id),
  CONSTRAINT order_items_check CHECK (num_nonnulls(menu_item_id, box_id) = 1),
  CONSTRAINT order_items_menu_item_id_fkey FOREIGN KEY (menu_item_id) REFERENCES menu_items(id),
  CONSTRAINT order_items_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT order_items_pkey PRIMARY KEY (order_id, "position"),
  CONSTRAINT order_items_qty_check CHECK (qty >= 1 AND qty <= 100)
);
CREATE INDEX order_items_by_box ON order_items USING btree (box_id) WHERE box_id IS NOT NULL;
CREATE INDEX order_items_by_menu_item ON order_items USING btree (menu_item_id) WHERE menu_item_id IS NOT NULL;

CREATE TABLE orders (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid,
  partner_id uuid NOT NULL,
  by_member boolean DEFAULT false NOT NULL,
  taken_elsewhere boolean DEFAULT false NOT NULL,
  status order_status DEFAULT 'ACCEPTED'::order_status NOT NULL,
  address text,
  total_minor bigint NOT NULL,
  discount_minor bigint DEFAULT 0 NOT NULL,
  amount_due_minor bigint GENERATED ALWAYS AS (total_minor - discount_minor) STORED NOT NULL,
  commission_percent numeric(5,2) NOT NULL,
  commission_minor bigint NOT NULL,
  net_minor bigint GENERATED ALWAYS AS (total_minor - discount_minor - commission_minor) STORED NOT NULL,
  pickup_code text NOT NULL,
  estimated_ready_at timestamp with time zone NOT NULL,
  pickup_window_start timestamp with time zone,
  pickup_window_end timestamp with time zone,
  no_show_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT orders_check CHECK (discount_minor >= 0 AND discount_minor <= total_minor),
  CONSTRAINT orders_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT orders_pkey PRIMARY KEY (id),
  CONSTRAINT orders_total_minor_check CHECK (total_minor >= 0),
  CONSTRAINT orders_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX orders_by_partner ON orders USING btree (partner_id, id);
CREATE INDEX orders_by_partner_and_status ON orders USING btree (partner_id, status, id);
CREATE INDEX orders_by_user ON orders USING btree (user_id, id);
CREATE INDEX orders_not_cancelled ON orders USING btree (user_id, id) WHERE status <> 'CANCELLED'::order_status;
CREATE INDEX orders_to_close ON orders USING btree (no_show_at) WHERE status = ANY (ARRAY['ACCEPTED'::order_status, 'READY'::order_status]);
CREATE INDEX orders_with_counter_address ON orders USING btree (created_at) WHERE user_id IS NULL AND address IS NOT NULL;
CREATE TRIGGER note_rollup_change AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION note_rollup_change();
CREATE TRIGGER note_rollup_change_of_move AFTER UPDATE OF status ON orders FOR EACH ROW WHEN (old.status <> new.status AND ((new.status = ANY (ARRAY['CANCELLED'::order_status, 'COMPLETED'::order_status])) OR (old.status = ANY (ARRAY['CANCELLED'::order_status, 'COMPLETED'::order_status])))) EXECUTE FUNCTION note_rollup_change();

CREATE TABLE otp (
  phone text NOT NULL,
  id uuid DEFAULT new_id() NOT NULL,
  code_hash bytea NOT NULL,
  encrypted_code text,
  expires_at timestamp with time zone NOT NULL,
  place text NOT NULL,
  guesses jsonb DEFAULT '{}'::jsonb NOT NULL,
  late text[] DEFAULT '{}'::text[] NOT NULL,
  proven text[] DEFAULT '{}'::text[] NOT NULL,
  used_at timestamp with time zone,
  claimed_at timestamp with time zone,
  claim uuid,
  sent_at timestamp with time zone,
  sends timestamp with time zone[] NOT NULL,
  wrong_guesses integer DEFAULT 0 NOT NULL,
  guesses_since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT otp_id_key UNIQUE (id),
  CONSTRAINT otp_pkey PRIMARY KEY (phone)
);
CREATE INDEX otp_by_expiry ON otp USING btree (expires_at);
CREATE INDEX otp_to_erase ON otp USING btree (expires_at) WHERE encrypted_code IS NOT NULL;

CREATE TABLE partner_ratings (
  partner_id uuid NOT NULL,
  rating_sum bigint NOT NULL,
  review_count integer NOT NULL,
  CONSTRAINT partner_ratings_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT partner_ratings_pkey PRIMARY KEY (partner_id),
  CONSTRAINT partner_ratings_rating_sum_check CHECK (rating_sum >= 0),
  CONSTRAINT partner_ratings_review_count_check CHECK (review_count >= 0)
);

CREATE TABLE partner_staff (
  user_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT partner_staff_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT partner_staff_pkey PRIMARY KEY (user_id),
  CONSTRAINT partner_staff_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX partner_staff_by_partner ON partner_staff USING btree (partner_id);

CREATE TABLE partners (
  id uuid DEFAULT new_id() NOT NULL,
  slug text NOT NULL,
  name text NOT NULL,
  description text,
  city_id text NOT NULL,
  address text NOT NULL,
  latitude double precision NOT NULL,
  longitude double precision NOT NULL,
  location point GENERATED ALWAYS AS (point(radians(longitude), asinh(tan(radians(LEAST(89.9::double precision, GREATEST('-89.9'::numeric::double precision, latitude))))))) STORED NOT NULL,
  address_distance double precision,
  timezone text,
  opening_hours jsonb DEFAULT '[]'::jsonb NOT NULL,
  preparation_minutes integer DEFAULT 20 NOT NULL,
  phone text,
  email text,
  owner_id uuid,
  owner_phone text,
  owner_left_at timestamp with time zone,
  status partner_status DEFAULT 'PENDING_REVIEW'::partner_status NOT NULL,
  status_reason text,
  own_items integer DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  activated_at timestamp with time zone,
  CONSTRAINT partners_city_id_fkey FOREIGN KEY (city_id) REFERENCES cities(id),
  CONSTRAINT partners_latitude_check CHECK (latitude >= '-90'::integer::double precision AND latitude <= 90::double precision),
  CONSTRAINT partners_longitude_check CHECK (longitude >= '-180'::integer::double precision AND longitude <= 180::double precision),
  CONSTRAINT partners_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users(id),
  CONSTRAINT partners_owner_id_key UNIQUE (owner_id),
  CONSTRAINT partners_pkey PRIMARY KEY (id),
  CONSTRAINT partners_preparation_minutes_check CHECK (preparation_minutes >= 0 AND preparation_minutes <= 1440),
  CONSTRAINT partners_slug_key UNIQUE (slug)
);
CREATE INDEX partners_active_by_city ON partners USING btree (city_id, id) WHERE status = 'ACTIVE'::partner_status;
CREATE INDEX partners_by_any_owner_phone ON partners USING btree (owner_phone) WHERE owner_phone IS NOT NULL;
CREATE INDEX partners_by_city ON partners USING btree (city_id, id);
CREATE INDEX partners_by_location ON partners USING gist (location) WHERE status = 'ACTIVE'::partner_status;
CREATE UNIQUE INDEX partners_by_owner_phone ON partners USING btree (owner_phone) WHERE owner_phone IS NOT NULL AND status = 'ACTIVE'::partner_status;
CREATE INDEX partners_by_phone ON partners USING btree (phone) WHERE phone IS NOT NULL;
CREATE INDEX partners_by_status ON partners USING btree (status, id);
CREATE INDEX partners_left_with_contact ON partners USING btree (owner_left_at) WHERE owner_left_at IS NOT NULL AND owner_id IS NULL AND (phone IS NOT NULL OR email IS NOT NULL OR status_reason IS NOT NULL);
CREATE TRIGGER note_event AFTER UPDATE OF status ON partners FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status) EXECUTE FUNCTION note_event();
CREATE TRIGGER stop_webhooks_of_former_owner AFTER UPDATE OF owner_id ON partners FOR EACH ROW WHEN (old.owner_id IS NOT NULL AND old.owner_id IS DISTINCT FROM new.owner_id) EXECUTE FUNCTION stop_webhooks_of_former_owner();

CREATE TABLE pos_credentials (
  partner_id uuid NOT NULL,
  adapter text NOT NULL,
  account text NOT NULL,
  encrypted text NOT NULL,
  revision text,
  next_sync_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT pos_credentials_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT pos_credentials_pkey PRIMARY KEY (partner_id)
);
CREATE UNIQUE INDEX pos_credentials_by_account ON pos_credentials USING btree (adapter, account);
CREATE INDEX pos_credentials_to_sync ON pos_credentials USING btree (next_sync_at);

CREATE TABLE pos_events (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  partner_id uuid NOT NULL,
  provider text NOT NULL,
  account text NOT NULL,
  event_id text NOT NULL,
  change jsonb NOT NULL,
  request_id text,
  traceparent text,
  status pos_event_status DEFAULT 'QUEUED'::pos_event_status NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
  last_error text,
  job_id bigint,
  received_at timestamp with time zone DEFAULT now() NOT NULL,
  settled_at timestamp with time zone,
  CONSTRAINT pos_events_check CHECK ((status = 'QUEUED'::pos_event_status) = (settled_at IS NULL)),
  CONSTRAINT pos_events_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT pos_events_partner_id_provider_account_event_id_key UNIQUE (partner_id, provider, account, event_id),
  CONSTRAINT pos_events_pkey PRIMARY KEY (id)
);
CREATE INDEX pos_events_by_status ON pos_events USING btree (status, id);
CREATE INDEX pos_events_of_customers ON pos_events USING btree ((change ->> 'customerPhone'::text)) WHERE (change ->> 'customerPhone'::text) IS NOT NULL;
CREATE INDEX pos_events_parked_by_order ON pos_events USING btree (partner_id, (change ->> 'orderExternalId'::text)) WHERE status = 'PARKED'::pos_event_status;
CREATE INDEX pos_events_queued ON pos_events USING btree (partner_id, id) WHERE status = 'QUEUED'::pos_event_status;
CREATE INDEX pos_events_settled_by_age ON pos_events USING btree (received_at) WHERE settled_at IS NOT NULL;

CREATE TABLE pos_inboxes (
  partner_id uuid NOT NULL,
  job_id bigint,
  CONSTRAINT pos_inboxes_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT pos_inboxes_pkey PRIMARY KEY (partner_id)
);

CREATE TABLE pos_orders (
  partner_id uuid NOT NULL,
  provider text NOT NULL,
  account text NOT NULL,
  external_id text NOT NULL,
  order_id uuid NOT NULL,
  refused_by uuid,
  CONSTRAINT pos_orders_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT pos_orders_order_id_key UNIQUE (order_id),
  CONSTRAINT pos_orders_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT pos_orders_pkey PRIMARY KEY (partner_id, provider, account, external_id),
  CONSTRAINT pos_orders_refused_by_fkey FOREIGN KEY (refused_by) REFERENCES users(id)
);
CREATE INDEX pos_orders_refused ON pos_orders USING btree (refused_by, partner_id) WHERE refused_by IS NOT NULL;

CREATE TABLE pos_syncs (
  id uuid DEFAULT new_id() NOT NULL,
  partner_id uuid NOT NULL,
  status pos_sync_status DEFAULT 'QUEUED'::pos_sync_status NOT NULL,
  start_at timestamp with time zone DEFAULT now() NOT NULL,
  attempt integer DEFAULT 1 NOT NULL,
  job_id bigint,
  run integer DEFAULT 0 NOT NULL,
  again boolean DEFAULT false NOT NULL,
  items_expected integer,
  items_synced integer DEFAULT 0 NOT NULL,
  items_failed integer DEFAULT 0 NOT NULL,
  items_archived integer DEFAULT 0 NOT NULL,
  unchanged boolean DEFAULT false NOT NULL,
  errors jsonb DEFAULT '[]'::jsonb NOT NULL,
  failure pos_sync_failure,
  reason text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  started_at timestamp with time zone,
  settled_at timestamp with time zone,
  CONSTRAINT pos_syncs_check CHECK ((status = ANY (ARRAY['DONE'::pos_sync_status, 'FAILED'::pos_sync_status])) = (settled_at IS NOT NULL)),
  CONSTRAINT pos_syncs_check1 CHECK ((status = 'FAILED'::pos_sync_status) = (failure IS NOT NULL)),
  CONSTRAINT pos_syncs_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT pos_syncs_pkey PRIMARY KEY (id)
);
CREATE INDEX pos_syncs_by_partner ON pos_syncs USING btree (partner_id, id);
CREATE UNIQUE INDEX pos_syncs_open ON pos_syncs USING btree (partner_id) WHERE settled_at IS NULL;
CREATE INDEX pos_syncs_settled ON pos_syncs USING btree (settled_at) WHERE settled_at IS NOT NULL;
CREATE TRIGGER note_event AFTER UPDATE OF status ON pos_syncs FOR EACH ROW WHEN (old.settled_at IS NULL AND new.settled_at IS NOT NULL) EXECUTE FUNCTION note_event();

CREATE TABLE processes (
  id text NOT NULL,
  role process_role NOT NULL,
  version text NOT NULL,
  started_at timestamp with time zone NOT NULL,
  beat_at timestamp with time zone DEFAULT now() NOT NULL,
  facts jsonb NOT NULL,
  CONSTRAINT processes_pkey PRIMARY KEY (id)
);

CREATE TABLE promo_attachments (
  user_id uuid NOT NULL,
  promo_id uuid NOT NULL,
  attached_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT promo_attachments_pkey PRIMARY KEY (user_id),
  CONSTRAINT promo_attachments_promo_id_fkey FOREIGN KEY (promo_id) REFERENCES promo_codes(id),
  CONSTRAINT promo_attachments_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX promo_attachments_by_promo ON promo_attachments USING btree (promo_id);

CREATE TABLE promo_codes (
  id uuid DEFAULT new_id() NOT NULL,
  code text NOT NULL,
  partner_id uuid,
  discount_percent numeric(5,2),
  discount_minor bigint,
  max_discount_minor bigint,
  min_order_minor bigint DEFAULT 0 NOT NULL,
  starts_at timestamp with time zone,
  ends_at timestamp with time zone,
  max_uses integer,
  max_uses_per_user integer DEFAULT 1 NOT NULL,
  uses integer DEFAULT 0 NOT NULL,
  active boolean DEFAULT true NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT promo_codes_check CHECK (uses >= 0 AND uses <= COALESCE(max_uses, uses)),
  CONSTRAINT promo_codes_check1 CHECK (num_nonnulls(discount_percent, discount_minor) = 1),
  CONSTRAINT promo_codes_check2 CHECK (ends_at > starts_at),
  CONSTRAINT promo_codes_code_check CHECK (code ~ '^[A-Z0-9_-]{3,32}$'::text),
  CONSTRAINT promo_codes_code_key UNIQUE (code),
  CONSTRAINT promo_codes_discount_minor_check CHECK (discount_minor > 0),
  CONSTRAINT promo_codes_discount_percent_check CHECK (discount_percent > 0::numeric AND discount_percent <= 100::numeric),
  CONSTRAINT promo_codes_max_discount_minor_check CHECK (max_discount_minor > 0),
  CONSTRAINT promo_codes_max_uses_check CHECK (max_uses > 0),
  CONSTRAINT promo_codes_max_uses_per_user_check CHECK (max_uses_per_user > 0),
  CONSTRAINT promo_codes_min_order_minor_check CHECK (min_order_minor >= 0),
  CONSTRAINT promo_codes_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT promo_codes_pkey PRIMARY KEY (id)
);
CREATE INDEX promo_codes_by_partner ON promo_codes USING btree (partner_id) WHERE partner_id IS NOT NULL;

CREATE TABLE promo_redemptions (
  order_id uuid NOT NULL,
  promo_id uuid NOT NULL,
  user_id uuid NOT NULL,
  returned_at timestamp with time zone,
  CONSTRAINT promo_redemptions_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT promo_redemptions_pkey PRIMARY KEY (order_id),
  CONSTRAINT promo_redemptions_promo_id_fkey FOREIGN KEY (promo_id) REFERENCES promo_codes(id),
  CONSTRAINT promo_redemptions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX promo_redemptions_by_promo ON promo_redemptions USING btree (promo_id);
CREATE INDEX promo_redemptions_by_user ON promo_redemptions USING btree (user_id, promo_id);

CREATE TABLE queue_minutes (
  minute timestamp with time zone NOT NULL,
  queue text NOT NULL,
  staged integer NOT NULL,
  done integer NOT NULL,
  oldest_due_seconds double precision,
  CONSTRAINT queue_minutes_pkey PRIMARY KEY (minute, queue)
);

CREATE TABLE queue_settings (
  queue text NOT NULL,
  paused_at timestamp with time zone,
  paused_why text,
  concurrency integer,
  per_minute integer,
  CONSTRAINT queue_settings_check CHECK ((paused_at IS NULL) = (paused_why IS NULL)),
  CONSTRAINT queue_settings_concurrency_check CHECK (concurrency >= 1 AND concurrency <= 1000),
  CONSTRAINT queue_settings_per_minute_check CHECK (per_minute >= 1 AND per_minute <= 1000000),
  CONSTRAINT queue_settings_pkey PRIMARY KEY (queue)
);

CREATE UNLOGGED TABLE rate_counters (
  key text NOT NULL,
  window_end timestamp with time zone NOT NULL,
  hits integer NOT NULL,
  CONSTRAINT rate_counters_pkey PRIMARY KEY (key, window_end)
);

CREATE TABLE refresh_tokens (
  digest bytea NOT NULL,
  session_id uuid NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  successor bytea,
  rotated_at timestamp with time zone,
  replayed_at timestamp with time zone,
  CONSTRAINT refresh_tokens_check CHECK ((successor IS NULL) = (rotated_at IS NULL)),
  CONSTRAINT refresh_tokens_digest_check CHECK (length(digest) = 32),
  CONSTRAINT refresh_tokens_pkey PRIMARY KEY (digest),
  CONSTRAINT refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX refresh_tokens_by_expiry ON refresh_tokens USING btree (expires_at);
CREATE INDEX refresh_tokens_by_session ON refresh_tokens USING btree (session_id);

CREATE TABLE reviews (
  id uuid DEFAULT new_id() NOT NULL,
  order_id uuid NOT NULL,
  user_id uuid NOT NULL,
  partner_id uuid NOT NULL,
  rating smallint NOT NULL,
  text text,
  status review_status DEFAULT 'PUBLISHED'::review_status NOT NULL,
  revision integer DEFAULT 1 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT reviews_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  CONSTRAINT reviews_order_id_key UNIQUE (order_id),
  CONSTRAINT reviews_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT reviews_pkey PRIMARY KEY (id),
  CONSTRAINT reviews_rating_check CHECK (rating >= 1 AND rating <= 5),
  CONSTRAINT reviews_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX reviews_by_partner ON reviews USING btree (partner_id);
CREATE INDEX reviews_by_user ON reviews USING btree (user_id, id);
CREATE INDEX reviews_shown ON reviews USING btree (partner_id, id) WHERE status = ANY (ARRAY['PUBLISHED'::review_status, 'APPROVED'::review_status]);
CREATE INDEX reviews_to_moderate ON reviews USING btree (status, id);
CREATE TRIGGER note_event AFTER UPDATE OF status ON reviews FOR EACH ROW WHEN (old.status IS DISTINCT FROM new.status AND (new.status = ANY (ARRAY['APPROVED'::review_status, 'REJECTED'::review_status]))) EXECUTE FUNCTION note_event();

CREATE TABLE rollup_changes (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  at timestamp with time zone NOT NULL,
  CONSTRAINT rollup_changes_pkey PRIMARY KEY (id)
);
CREATE INDEX rollup_changes_by_moment ON rollup_changes USING btree (at);

CREATE TABLE rollup_days (
  day date NOT NULL,
  zone text NOT NULL,
  from_at timestamp with time zone NOT NULL,
  until_at timestamp with time zone NOT NULL,
  rolled_up_at timestamp with time zone,
  orders bigint DEFAULT 0 NOT NULL,
  gmv_minor bigint DEFAULT 0 NOT NULL,
  commission_minor bigint DEFAULT 0 NOT NULL,
  saved_grams bigint DEFAULT 0 NOT NULL,
  CONSTRAINT rollup_days_check CHECK (until_at > from_at),
  CONSTRAINT rollup_days_pkey PRIMARY KEY (day)
);
CREATE INDEX rollup_days_by_end ON rollup_days USING btree (until_at);

CREATE TABLE rollup_hours (
  day date NOT NULL,
  hour integer NOT NULL,
  orders bigint NOT NULL,
  listings bigint NOT NULL,
  CONSTRAINT rollup_hours_hour_check CHECK (hour >= 0 AND hour <= 23),
  CONSTRAINT rollup_hours_pkey PRIMARY KEY (day, hour)
);

CREATE TABLE rollup_items (
  item_id uuid NOT NULL,
  day date NOT NULL,
  partner_id uuid NOT NULL,
  is_box boolean NOT NULL,
  orders bigint NOT NULL,
  gmv_minor bigint NOT NULL,
  picked_up bigint NOT NULL,
  weight_grams integer NOT NULL,
  CONSTRAINT rollup_items_pkey PRIMARY KEY (item_id, day)
);
CREATE INDEX rollup_items_by_day ON rollup_items USING btree (day);
CREATE INDEX rollup_items_by_partner ON rollup_items USING btree (partner_id, day);

CREATE TABLE rollup_partners (
  partner_id uuid NOT NULL,
  day date NOT NULL,
  orders bigint NOT NULL,
  gmv_minor bigint NOT NULL,
  commission_minor bigint NOT NULL,
  saved_grams bigint NOT NULL,
  CONSTRAINT rollup_partners_pkey PRIMARY KEY (partner_id, day)
);
CREATE INDEX rollup_partners_by_day ON rollup_partners USING btree (day);

CREATE TABLE schema_versions (
  version bigint NOT NULL,
  name text,
  md5 text,
  run_at timestamp with time zone,
  CONSTRAINT schema_versions_pkey PRIMARY KEY (version)
);

CREATE TABLE sessions (
  id uuid DEFAULT new_id() NOT NULL,
  user_id uuid NOT NULL,
  for_dashboard boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  revoked_at timestamp with time zone,
  CONSTRAINT sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX sessions_by_user ON sessions USING btree (user_id);

CREATE TABLE staff_invitations (
  id uuid DEFAULT new_id() NOT NULL,
  partner_id uuid NOT NULL,
  phone text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT staff_invitations_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id),
  CONSTRAINT staff_invitations_partner_id_phone_key UNIQUE (partner_id, phone),
  CONSTRAINT staff_invitations_pkey PRIMARY KEY (id)
);
CREATE INDEX staff_invitations_by_age ON staff_invitations USING btree (created_at);
CREATE INDEX staff_invitations_by_phone ON staff_invitations USING btree (phone, id);

CREATE TABLE staged_jobs (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  queue text NOT NULL,
  key text,
  payload jsonb NOT NULL,
  request_id text,
  traceparent text,
  run_at timestamp with time zone DEFAULT now() NOT NULL,
  next_send_at timestamp with time zone DEFAULT now() NOT NULL,
  sends integer DEFAULT 0 NOT NULL,
  priority integer DEFAULT 0 NOT NULL,
  generation integer DEFAULT floor(random() * 1000000000::double precision)::integer NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  last_error text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  done_at timestamp with time zone,
  dead_at timestamp with time zone,
  CONSTRAINT staged_jobs_pkey PRIMARY KEY (id),
  CONSTRAINT staged_jobs_priority_check CHECK (priority >= 0)
);
CREATE INDEX staged_jobs_dead ON staged_jobs USING btree (dead_at) WHERE dead_at IS NOT NULL;
CREATE INDEX staged_jobs_dead_by_payload ON staged_jobs USING gin (payload jsonb_path_ops) WHERE dead_at IS NOT NULL AND done_at IS NULL;
CREATE INDEX staged_jobs_done ON staged_jobs USING btree (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX staged_jobs_open_by_key ON staged_jobs USING btree (key) WHERE key IS NOT NULL AND done_at IS NULL AND dead_at IS NULL;
CREATE INDEX staged_jobs_to_send ON staged_jobs USING btree (next_send_at) WHERE done_at IS NULL AND dead_at IS NULL;

CREATE TABLE statement_files (
  statement_id uuid NOT NULL,
  name text NOT NULL,
  made_at timestamp with time zone,
  CONSTRAINT statement_files_name_key UNIQUE (name),
  CONSTRAINT statement_files_pkey PRIMARY KEY (statement_id),
  CONSTRAINT statement_files_statement_id_fkey FOREIGN KEY (statement_id) REFERENCES statements(id)
);

CREATE TABLE statements (
  id uuid DEFAULT new_id() NOT NULL,
  number bigint NOT NULL,
  partner_id uuid NOT NULL,
  partner_name text NOT NULL,
  month date,
  known_entry_id bigint,
  zone text NOT NULL,
  from_at timestamp with time zone NOT NULL,
  until_at timestamp with time zone NOT NULL,
  first_day date GENERATED ALWAYS AS ((from_at AT TIME ZONE zone)::date) STORED NOT NULL,
  last_day date GENERATED ALWAYS AS ((until_at AT TIME ZONE zone)::date - 1) STORED NOT NULL,
  currency text NOT NULL,
  orders integer NOT NULL,
  sales_minor bigint NOT NULL,
  till_minor bigint NOT NULL,
  own_promo_minor bigint NOT NULL,
  platform_promo_minor bigint NOT NULL,
  commission_minor bigint NOT NULL,
  earlier_minor bigint NOT NULL,
  corrections_minor bigint NOT NULL,
  payouts_minor bigint NOT NULL,
  opening_minor bigint NOT NULL,
  closing_minor bigint NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT statements_check CHECK (until_at > from_at),
  CONSTRAINT statements_check1 CHECK ((month IS NULL) = (known_entry_id IS NOT NULL)),
  CONSTRAINT statements_check2 CHECK (sales_minor = (till_minor + own_promo_minor + platform_promo_minor)),
  CONSTRAINT statements_check3 CHECK (closing_minor = (opening_minor + platform_promo_minor - commission_minor + earlier_minor + corrections_minor + payouts_minor)),
  CONSTRAINT statements_month_check CHECK (EXTRACT(day FROM month) = 1::numeric),
  CONSTRAINT statements_partner_id_month_key UNIQUE (partner_id, month),
  CONSTRAINT statements_pkey PRIMARY KEY (id)
);
CREATE INDEX statements_by_month ON statements USING btree (month, number);
CREATE INDEX statements_extracts ON statements USING btree (partner_id, from_at, until_at) WHERE month IS NULL;
CREATE UNIQUE INDEX statements_numbers ON statements USING btree ((month IS NULL), number);
CREATE TRIGGER refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON statements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE upkeep_runs (
  task text NOT NULL,
  started_at timestamp with time zone NOT NULL,
  ms integer NOT NULL,
  changed integer,
  error text,
  CONSTRAINT upkeep_runs_ms_check CHECK (ms >= 0),
  CONSTRAINT upkeep_runs_pkey PRIMARY KEY (task)
);

CREATE TABLE users (
  id uuid DEFAULT new_id() NOT NULL,
  service_id text NOT NULL,
  phone text,
  first_name text,
  last_name text,
  email text,
  avatar_url text,
  avatar text,
  locale text DEFAULT 'ru-RU'::text NOT NULL,
  timezone text,
  is_admin boolean DEFAULT false NOT NULL,
  is_observer boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp with time zone,
  erased_at timestamp with time zone,
  phone_hash bytea,
  first_account_id uuid,
  CONSTRAINT users_avatar_fkey FOREIGN KEY (avatar) REFERENCES files(name),
  CONSTRAINT users_check CHECK (phone IS NOT NULL OR deleted_at IS NOT NULL),
  CONSTRAINT users_check1 CHECK (erased_at IS NULL OR deleted_at IS NOT NULL),
  CONSTRAINT users_first_account_id_fkey FOREIGN KEY (first_account_id) REFERENCES users(id),
  CONSTRAINT users_pkey PRIMARY KEY (id),
  CONSTRAINT users_service_id_key UNIQUE (service_id)
);
CREATE INDEX users_by_avatar ON users USING btree (avatar) WHERE avatar IS NOT NULL;
CREATE INDEX users_by_first_account ON users USING btree (first_account_id) WHERE first_account_id IS NOT NULL;
CREATE UNIQUE INDEX users_by_phone ON users USING btree (phone) WHERE deleted_at IS NULL;
CREATE INDEX users_by_phone_hash ON users USING btree (phone_hash) WHERE phone_hash IS NOT NULL;
CREATE INDEX users_to_erase ON users USING btree (deleted_at) WHERE deleted_at IS NOT NULL AND erased_at IS NULL;
CREATE TRIGGER note_event AFTER UPDATE OF deleted_at ON users FOR EACH ROW WHEN (old.deleted_at IS NULL AND new.deleted_at IS NOT NULL) EXECUTE FUNCTION note_event();

CREATE TABLE vendor_calls (
  vendor text NOT NULL,
  succeeded_at timestamp with time zone,
  failed_at timestamp with time zone,
  CONSTRAINT vendor_calls_pkey PRIMARY KEY (vendor)
);

CREATE TABLE webhook_deliveries (
  endpoint_id uuid NOT NULL,
  position bigint NOT NULL,
  event_id uuid NOT NULL,
  type text NOT NULL,
  version smallint NOT NULL,
  partner_id uuid,
  at timestamp with time zone NOT NULL,
  data jsonb NOT NULL,
  status webhook_status DEFAULT 'PENDING'::webhook_status NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  next_attempt_at timestamp with time zone DEFAULT now(),
  answered integer,
  answer text,
  ms integer,
  attempted_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT webhook_deliveries_check CHECK ((status = 'PENDING'::webhook_status) = (next_attempt_at IS NOT NULL)),
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (endpoint_id, "position")
);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries USING btree (endpoint_id, "position") INCLUDE (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries USING btree (endpoint_id, "position") WHERE status = 'FAILED'::webhook_status;

CREATE TABLE webhook_endpoints (
  id uuid DEFAULT new_id() NOT NULL,
  partner_id uuid,
  api_key_id uuid,
  url text NOT NULL,
  description text,
  types text[],
  secret text NOT NULL,
  old_secret text,
  old_secret_until timestamp with time zone,
  position bigint NOT NULL,
  stopped_at timestamp with time zone,
  stopped_why webhook_stop,
  failures integer DEFAULT 0 NOT NULL,
  failing_since timestamp with time zone,
  paused_until timestamp with time zone,
  told_stopped boolean DEFAULT false NOT NULL,
  job_id bigint,
  claim uuid,
  claimed_until timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT webhook_endpoints_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id) ON DELETE SET NULL,
  CONSTRAINT webhook_endpoints_check CHECK ((stopped_at IS NULL) = (stopped_why IS NULL)),
  CONSTRAINT webhook_endpoints_check1 CHECK ((old_secret IS NULL) = (old_secret_until IS NULL)),
  CONSTRAINT webhook_endpoints_check2 CHECK ((claim IS NULL) = (claimed_until IS NULL)),
  CONSTRAINT webhook_endpoints_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id) ON DELETE CASCADE,
  CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_endpoints_types_check CHECK (cardinality(types) > 0)
);
CREATE INDEX webhook_endpoints_by_api_key ON webhook_endpoints USING btree (api_key_id) WHERE api_key_id IS NOT NULL;
CREATE INDEX webhook_endpoints_by_partner ON webhook_endpoints USING btree (partner_id, id);

CREATE TABLE weight_changes (
  item_id uuid NOT NULL,
  changed_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT weight_changes_pkey PRIMARY KEY (item_id)
);

-- VIEW open_jobs (id bigint, queue text, key text, priority integer)
-- FUNCTION accept_invitation(of_invitation uuid, invited uuid) RETURNS TABLE(outcome text, partner_id uuid)
-- FUNCTION accounts_of(of_user uuid) RETURNS SETOF uuid
-- FUNCTION add_event_partition(of_day date) RETURNS void
-- FUNCTION add_rating(of_partner uuid, stars integer) RETURNS void
-- FUNCTION announce_events(after_position bigint, until_position bigint) RETURNS void
-- FUNCTION apply_ad_batch(batch_id uuid, charged campaign_status[], completed campaign_status) RETURNS TABLE(campaign_id uuid)
-- FUNCTION apply_weight_changes(max_items integer) RETURNS integer
-- FUNCTION attach_referral(newcomer uuid, code text) RETURNS text
-- FUNCTION book_by_hand(of_partner uuid, counter_account ledger_account, of_kind ledger_kind, amount bigint, at timestamp with time zone, in_zone text, known_by text, why text, of_order uuid) RETURNS uuid
-- FUNCTION book_events(most integer, in_zone text) RETURNS integer
-- FUNCTION book_orders(order_ids uuid[], event_ids uuid[], in_zone text) RETURNS integer
-- FUNCTION book_orders_after(after_id uuid, most integer, in_zone text) RETURNS uuid
-- FUNCTION box_facts(b boxes) RETURNS jsonb
-- FUNCTION box_is_on_offer(b boxes, p partners) RETURNS boolean
-- FUNCTION box_is_open(b boxes, at timestamp with time zone) RETURNS boolean
-- FUNCTION box_is_visible(b boxes, p partners) RETURNS boolean
-- FUNCTION boxes_near(at_latitude double precision, at_longitude double precision, radius double precision, in_city text, max_price_minor bigint, available_from timestamp with time zone, available_to timestamp with time zone, after_distance double precision, after_id uuid, max_rows integer) RETURNS TABLE(box_id uuid, distance double precision)
-- FUNCTION bring_job_forward(job_id bigint, due_at timestamp with time zone DEFAULT now()) RETURNS boolean
-- FUNCTION bring_jobs_forward(of_queue text, keys text[]) RETURNS void
-- FUNCTION change_review(of_review uuid, author uuid, allowed_statuses review_status[], target review_status, new_stars integer, new_text text, read_revision integer) RETURNS TABLE(moved boolean, before review_status, status review_status)
-- FUNCTION check_ledger() RETURNS trigger
-- FUNCTION claim_partner(of_user uuid, of_phone text) RETURNS void
-- FUNCTION claim_slug(base text) RETURNS text
-- FUNCTION complete_job(job_id bigint, of_generation integer DEFAULT NULL::integer) RETURNS boolean
-- FUNCTION complete_jobs(job_ids bigint[], generations integer[]) RETURNS SETOF bigint
-- FUNCTION continue_bulk_action(action_id uuid, most integer) RETURNS integer
-- FUNCTION count_action(counted text, most integer, lasting interval) RETURNS timestamp with time zone
-- FUNCTION count_guess(for_phone text, hashes bytea[], from_place text, is_known boolean, place_limit integer, lasting interval) RETURNS TABLE(outcome text, id uuid, hash bytea, retry_after_seconds integer)
-- FUNCTION create_loyalty_account(of_user uuid) RETURNS void
-- FUNCTION credit_completed_order(of_order uuid, most_points integer, most_points_a_day integer) RETURNS void
-- FUNCTION decline_partner(of_user uuid, suspendable partner_status[]) RETURNS boolean
-- FUNCTION decline_pos_order(of_order uuid, declining uuid) RETURNS boolean
-- FUNCTION default_commission_percent() RETURNS numeric
-- FUNCTION delete_account(of_user uuid, keyed_phone_hash bytea, suspendable partner_status[]) RETURNS boolean
-- FUNCTION draft_statements(of_partners uuid[], of_month date, starts timestamp with time zone) RETURNS TABLE(partner_id uuid, orders integer, sales_minor bigint, till_minor bigint, own_promo_minor bigint, platform_promo_minor bigint, commission_minor bigint, earlier_minor bigint, corrections_minor bigint, payouts_minor bigint, opening_minor bigint, closing_minor bigint)
-- FUNCTION drop_old_events(days integer) RETURNS integer
-- FUNCTION end_webhook_run(of_endpoint uuid, run uuid, due_at timestamp with time zone) RETURNS void
-- FUNCTION erase_accounts(max_rows integer) RETURNS integer
-- FUNCTION first_id_at(at timestamp with time zone) RETURNS uuid
-- FUNCTION great_circle(latitude_1 double precision, longitude_1 double precision, latitude_2 double precision, longitude_2 double precision) RETURNS double precision
-- FUNCTION has_partner(of_user uuid) RETURNS boolean
-- FUNCTION idempotency_key_lifetime() RETURNS interval
-- FUNCTION import_menu_rows(of_partner uuid, rows menu_row[], has_description boolean, has_weight boolean, room integer, repeats integer) RETURNS TABLE(created integer, updated integer, repeated integer, of_pos integer[], without_room integer[], beyond_repeats integer[])
-- FUNCTION insert_pos_sync(of_partner uuid, due_at timestamp with time zone, attempt_number integer, caused_by text) RETURNS uuid
-- FUNCTION invite_staff(of_partner uuid, inviter uuid, staff_phone text, max_staff integer) RETURNS TABLE(outcome text, id uuid)
-- FUNCTION is_event_meant(event pos_events, of_partner uuid, error_part text, received_from timestamp with time zone, received_before timestamp with time zone, min_attempts integer) RETURNS boolean
-- FUNCTION is_job_due(job_id bigint) RETURNS boolean
-- FUNCTION is_job_meant(job staged_jobs, of_queue text, error_part text, staged_from timestamp with time zone, staged_before timestamp with time zone, min_attempts integer, argument jsonb) RETURNS boolean
-- FUNCTION job_id_at(moment timestamp with time zone) RETURNS bigint
-- FUNCTION job_ids_about(subject_id uuid) RETURNS SETOF bigint
-- FUNCTION keep_city(city_key text, zone text) RETURNS void
-- FUNCTION line_due_minor(price_minor bigint, qty integer, total_minor bigint, due_minor bigint) RETURNS bigint
-- FUNCTION lines_on_statement(of_statement uuid) RETURNS SETOF ledger_entries
-- FUNCTION listed_boxes(from_at timestamp with time zone, until_at timestamp with time zone, of_partner uuid) RETURNS TABLE(id uuid, partner_id uuid, created_at timestamp with time zone)
-- FUNCTION live_days(in_zone text, first_day date, last_day date) RETURNS TABLE(day date, from_at timestamp with time zone, until_at timestamp with time zone)
-- FUNCTION local_zone(partner_zone text, city_zone text) RETURNS text
-- FUNCTION lock_pos_inbox(of_partner uuid) RETURNS bigint
-- FUNCTION log_in(otp_id uuid, new_service_ids text[], phone_hashes bytea[], token_digest bytea, to_dashboard boolean, from_place text, is_known boolean) RETURNS TABLE(user_id uuid, session_id uuid)
-- FUNCTION make_extract(of_partner uuid, of_first_day date, of_last_day date, in_zone text, of_currency text, most_a_day integer, caused_by text) RETURNS TABLE(extract_id uuid, is_new boolean)
-- FUNCTION make_room_for_partner(of_user uuid, suspendable partner_status[]) RETURNS boolean
-- FUNCTION make_statements(of_month date, in_zone text, of_currency text, after_partner uuid, most integer) RETURNS TABLE(last_partner uuid, made integer)
-- FUNCTION match_menu_rows(of_partner uuid, rows menu_row[], has_description boolean, has_weight boolean) RETURNS SETOF matched_menu_row
-- FUNCTION menu_category_of(of_partner uuid, category text) RETURNS uuid
-- FUNCTION menu_item_facts(item menu_items) RETURNS jsonb
-- FUNCTION menu_item_key(of_partner uuid, external_id text) RETURNS text
-- FUNCTION menu_item_of_row(of_partner uuid, in_category uuid, row_external_id text, row_name_key text) RETURNS SETOF menu_items
-- FUNCTION mercator_north(latitude double precision) RETURNS double precision
-- FUNCTION month_of(at timestamp with time zone, in_zone text) RETURNS date
-- FUNCTION move_order(of_order uuid, target order_status, allowed_statuses order_status[], mover order_actor, mover_id uuid, as_customer uuid, as_partner uuid, shown_pickup_code text, caused_by text, most_points integer, most_points_a_day integer) RETURNS TABLE(outcome text, status order_status)
-- FUNCTION new_id() RETURNS uuid
-- FUNCTION next_favorites(of_partner uuid, of_box uuid, of_kind text, recent interval, max_recent integer, after_id uuid, max_rows integer) RETURNS TABLE(id uuid, user_id uuid, willing boolean)
-- FUNCTION next_otp_send(sends timestamp with time zone[], daily_limit integer) RETURNS timestamp with time zone
-- FUNCTION next_pos_sync(of_partner uuid, after timestamp with time zone) RETURNS timestamp with time zone
-- FUNCTION next_webhook(of_endpoint uuid) RETURNS bigint
-- FUNCTION note_event() RETURNS trigger
-- FUNCTION note_events_of_menu() RETURNS trigger
-- FUNCTION note_rollup_change() RETURNS trigger
-- FUNCTION note_weight_change() RETURNS trigger
-- FUNCTION number_events(most integer) RETURNS integer
-- FUNCTION orders_not_cancelled_since(at timestamp with time zone, of_users uuid[]) RETURNS TABLE(id uuid, partner_id uuid, status order_status, taken_elsewhere boolean)
-- FUNCTION otp_guesses_end(o otp) RETURNS timestamp with time zone
-- FUNCTION otp_is_guarded(o otp) RETURNS boolean
-- FUNCTION partner_members(of_partner uuid) RETURNS SETOF uuid
-- FUNCTION partners_near(at_latitude double precision, at_longitude double precision, radius double precision, after_distance double precision, after_id uuid, max_rows integer) RETURNS TABLE(partner_id uuid, latitude double precision, longitude double precision, distance double precision)
-- FUNCTION place_order(buyer uuid, seller uuid, item_ids uuid[], item_qtys integer[], offered_total_minor bigint, delivery_address text, named_promo text, order_key text, order_fingerprint bytea, order_pickup_code text, caused_by text, taken_elsewhere boolean DEFAULT false, most_open integer DEFAULT NULL::integer, buyer_session uuid DEFAULT NULL::uuid) RETURNS jsonb
-- FUNCTION pos_sync_delay() RETURNS interval
-- FUNCTION positions_a_day() RETURNS bigint
-- FUNCTION promo_discount(promo promo_codes, amount_minor bigint) RETURNS bigint
-- FUNCTION promo_refusal(promo promo_codes, buyer uuid, seller uuid, amount_minor bigint, at timestamp with time zone) RETURNS text
-- FUNCTION publish_review(of_order uuid, author uuid, stars integer, review_text text, caused_by text) RETURNS TABLE(outcome text, id uuid)
-- FUNCTION receive_pos_events(waits boolean, providers text[], partner_ids uuid[], accounts text[], event_ids text[], changes jsonb, request_ids text[]) RETURNS TABLE(inbox uuid, added bigint)
-- FUNCTION record_event(event_type text, of_partner uuid, facts jsonb) RETURNS bigint
-- FUNCTION redact(written text, phone text, names text[]) RETURNS text
-- FUNCTION referral_points() RETURNS integer
-- FUNCTION refresh_token_lifetime() RETURNS interval
-- FUNCTION refuse_change() RETURNS trigger
-- FUNCTION release_held_jobs(of_queue text, most integer) RETURNS integer
-- FUNCTION release_partners(released uuid[], actor uuid, suspendable partner_status[], why text) RETURNS void
-- FUNCTION release_rejected(of_user uuid) RETURNS void
-- FUNCTION remove_staff(of_partner uuid, member uuid, actor uuid, suspendable partner_status[]) RETURNS boolean
-- FUNCTION repeat_box(source_id uuid, on_day date, by_schedule boolean, caused_by text DEFAULT NULL::text) RETURNS uuid
-- FUNCTION replay_job(job_id bigint, due_at timestamp with time zone DEFAULT now()) RETURNS boolean
-- FUNCTION request_pos_sync(of_partner uuid, by_user boolean, caused_by text) RETURNS uuid
-- FUNCTION reschedule_stalled_inboxes(max_inboxes integer) RETURNS integer
-- FUNCTION resend_webhooks(of_endpoint uuid, since timestamp with time zone, before timestamp with time zone, after_position bigint, most integer, OUT resent integer, OUT last_position bigint) RETURNS record
-- FUNCTION review_is_shown(status review_status) RETURNS boolean
-- FUNCTION roll_up(of_day date, in_zone text) RETURNS void
-- FUNCTION rotate_refresh_token(presented bytea, successors bytea[]) RETURNS TABLE(user_id uuid, session_id uuid, successor bytea)
-- FUNCTION schedule_inbox_run(of_partner uuid, current_job bigint, due_at timestamp with time zone, caused_by text) RETURNS void
-- FUNCTION schedule_webhooks(of_endpoint uuid, due_at timestamp with time zone, begins_after bigint DEFAULT NULL::bigint) RETURNS void
-- FUNCTION search_areas(latitude double precision, longitude double precision, metres double precision) RETURNS TABLE(area box, middle point)
-- FUNCTION settle_jobs(kind bulk_action_kind, job_ids bigint[], until timestamp with time zone DEFAULT NULL::timestamp with time zone, least_rank integer DEFAULT 0, send_from timestamp with time zone DEFAULT now()) RETURNS integer
-- FUNCTION settle_parked_events(kind bulk_action_kind, event_ids bigint[], of_partner uuid, remark text, caused_by text, most integer) RETURNS integer
-- FUNCTION settle_pos_sync(of_sync uuid, of_run integer, new_status pos_sync_status, new_failure pos_sync_failure, new_reason text, retry_at timestamp with time zone, caused_by text) RETURNS boolean
-- FUNCTION settle_webhook(of_endpoint uuid, at_position bigint, accepted boolean, answered_status integer, answer_text text, took_ms integer, again_in interval, pause interval) RETURNS webhook_stop
-- FUNCTION stage_job(to_queue text, job_payload jsonb, caused_by text DEFAULT NULL::text, due_at timestamp with time zone DEFAULT now(), open_key text DEFAULT NULL::text, rank integer DEFAULT 0) RETURNS bigint
-- FUNCTION stage_jobs(to_queue text, job_payloads jsonb, caused_by text[], due_times timestamp with time zone[] DEFAULT NULL::timestamp with time zone[]) RETURNS void
-- FUNCTION start_of_day(day date, zone text) RETURNS timestamp with time zone
-- FUNCTION start_otp(for_phone text, hash bytea, encrypted_code text, from_place text, is_known boolean, daily_limit integer, place_limit integer, total_limit integer) RETURNS TABLE(id uuid, retry_after_seconds integer)
-- FUNCTION stop_webhooks_of_former_owner() RETURNS trigger
-- FUNCTION suspend_deserted(candidates uuid[], actor uuid, suspendable partner_status[], why text) RETURNS void
-- FUNCTION this_server() RETURNS text
-- FUNCTION uncancelled_lines(from_at timestamp with time zone, until_at timestamp with time zone, of_partner uuid) RETURNS TABLE(partner_id uuid, box_id uuid, menu_item_id uuid, price_minor bigint, qty integer, status order_status, total_minor bigint, amount_due_minor bigint)
-- FUNCTION uncancelled_orders(from_at timestamp with time zone, until_at timestamp with time zone, of_partner uuid) RETURNS TABLE(id uuid, partner_id uuid, status order_status, created_at timestamp with time zone, total_minor bigint, amount_due_minor bigint, commission_minor bigint)
-- FUNCTION utc_text(at timestamp with time zone) RETURNS text
-- FUNCTION wake_relays(due_at timestamp with time zone) RETURNS void
-- FUNCTION webhook_backlog_at(of_partner uuid, of_types text[], after_position bigint) RETURNS timestamp with time zone
-- FUNCTION webhook_editors(of_endpoint uuid) RETURNS SETOF uuid
-- FUNCTION withdraw_review(of_order uuid) RETURNS void
