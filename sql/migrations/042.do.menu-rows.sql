-- A row of a menu's CSV file, and what it means to the menu it is imported into (see functions/import_menu_rows.sql). The
-- function that takes such rows has a signature of its own beside the one of the release before.
create type menu_row as (
  category text,
  name text,
  price_minor bigint,
  external_id text,
  description text,
  weight_grams integer,
  available boolean
);

create type matched_menu_row as (
  place integer,
  category text,
  name text,
  price_minor bigint,
  external_id text,
  description text,
  weight_grams integer,
  available boolean,
  -- null for a category that is new to the menu
  category_id uuid,
  -- of the item that the row changes; null for one that it makes
  item_id uuid,
  source item_source,
  -- whether the item is something else than the row says
  differs boolean,
  -- whether another row of the same call touches the same key, name or item
  clashes boolean
);
