-- it says how many rows it has dealt with now, and is made anew with that
drop function if exists import_menu_rows(
  uuid, text[], integer[], text[], bigint[], text[], text[], integer[], boolean[], boolean, boolean
);
