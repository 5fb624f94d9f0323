-- Functions that have other names now, or other names for their parameters, which `create or replace` cannot change.
drop function if exists count_rating(uuid, integer);
drop function if exists is_shown(review_status);
drop function if exists lines_that_count(timestamptz, timestamptz, uuid);
drop function if exists lock_pos_mailbox(uuid);
drop function if exists open_loyalty_account(uuid);
drop function if exists orders_that_count(timestamptz, timestamptz, uuid);
drop function if exists boxes_listed(timestamptz, timestamptz, uuid);
drop function if exists people_of_partner(uuid);
drop function if exists pos_sync_patience();
drop function if exists ring_forgotten_mailboxes(integer);
drop function if exists ring_pos_mailbox(uuid, bigint, timestamptz, text);
drop function if exists start_pos_sync(uuid, timestamptz, integer, text);
drop function if exists take_slug(text);
drop function if exists work_in_weights(integer);

drop function if exists accept_invitation(uuid, uuid);
drop function if exists boxes_near(
  double precision, double precision, double precision, text, bigint, timestamptz, timestamptz, double precision, uuid, integer
);
drop function if exists change_review(uuid, uuid, review_status[], review_status, integer, text, integer);
drop function if exists count_otp_send(text, integer);
drop function if exists credit_completed_order(uuid);
drop function if exists delete_account(uuid, partner_status[]);
drop function if exists erase_accounts(integer);
drop function if exists import_menu_rows(
  uuid, text[], integer[], text[], bigint[], text[], text[], integer[], boolean[], boolean, boolean
);
drop function if exists invite_staff(uuid, uuid, text, integer);
drop function if exists local_zone(text, text);
drop function if exists move_order(uuid, order_status, order_status[], order_actor, uuid, uuid, uuid, text, text);
drop function if exists next_favorites(uuid, uuid, text, interval, integer, uuid, integer);
drop function if exists partners_near(double precision, double precision, double precision, double precision, uuid, integer);
drop function if exists publish_review(uuid, uuid, integer, text);
drop function if exists repeat_box(uuid, date, boolean, text);
drop function if exists request_pos_sync(uuid, boolean, text);
drop function if exists roll_up(date, text);
drop function if exists settle_pos_sync(uuid, integer, pos_sync_status, pos_sync_failure, text, timestamptz, text);
drop function if exists start_otp(text, bytea, text, text, integer, integer);
