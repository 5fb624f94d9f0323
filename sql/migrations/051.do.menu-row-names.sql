-- As in 050: parameters of these functions have other names now.
drop function if exists import_menu_rows(uuid, menu_row[], boolean, boolean);
drop function if exists match_menu_rows(uuid, menu_row[], boolean, boolean);
drop function if exists menu_category_of(uuid, text);
drop function if exists menu_item_of_row(uuid, uuid, text, text);
