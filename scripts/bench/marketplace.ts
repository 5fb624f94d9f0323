import pg from "pg";

export interface Marketplace {
  userIds: string[];
  boxes: { id: string; partnerId: string }[];
}

/** The price of every box, in major units. */
export const PRICE = 249.9;

/**
 * 1,000 users, 50 bakeries with ten boxes each, and far more stock than a measurement can sell. Everyone has one device and no
 * quiet hours.
 */
const SEED = `
  truncate cities, users, staged_jobs cascade;

  insert into cities (id, name, timezone) values ('bench', 'Bench', 'Europe/Moscow');

  insert into users (service_id, phone, first_name, last_name)
  select 'SF-' || n, '+7' || (9000000000 + n), 'Иван', 'Петров' from generate_series(1, 1000) n;

  insert into partners (slug, name, city_id, address, latitude, longitude, status, activated_at)
  select 'bakery-' || n, 'Bakery ' || n, 'bench', 'Тверская улица, ' || n, 55.7 + n * 0.001, 37.6, 'ACTIVE', now()
  from generate_series(1, 50) n;

  with owners as (
    insert into users (service_id, phone, first_name)
    select 'SF-owner-' || n, '+7' || (9100000000 + n), 'Анна' from generate_series(1, 50) n
    returning id, service_id
  )
  update partners set owner_id = owners.id
  from owners
  where 'SF-owner-' || replace(slug, 'bakery-', '') = service_id;

  insert into notification_preferences (user_id, push, sms, email, marketing, quiet_hours_start, quiet_hours_end)
  select id, true, true, true, false, '00:00', '00:00' from users;

  insert into devices (user_id, platform, address, address_digest, locale)
  select id, 'android', 'bench:' || id, sha256(convert_to('bench:' || id, 'UTF8')), 'ru-RU' from users;

  insert into menu_categories (partner_id, name) select id, 'Хлеб' from partners;

  insert into menu_items (partner_id, category_id, name, price_minor)
  select partner_id, id, 'Bread ' || n, 12000 from menu_categories, generate_series(1, 3) n;

  insert into boxes (
    partner_id, city_id, title, description, price_minor, original_price_minor, weight_grams, quantity_available,
    pickup_window_start, pickup_window_end
  )
  select id, city_id, 'Вечерний набор ' || n, 'Всё, что осталось к закрытию', 24990, 60000, 1500, 1000000000,
         now() + interval '1 day', now() + interval '25 hours'
  from partners, generate_series(1, 10) n;

  insert into box_items (box_id, menu_item_id, qty)
  select b.id, m.id, 2 from boxes b join menu_items m on m.partner_id = b.partner_id`;

/** Fills the database with a marketplace without orders, whatever it had. */
export async function seedMarketplace(databaseUrl: string): Promise<Marketplace> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(SEED);
    // of a table that is empty now, ANALYZE keeps what it knew of the rows before, and statements would be planned for those
    await client.query("delete from pg_statistic");
    await client.query("vacuum analyze");
    const users = await client.query<{ id: string }>("select id from users where first_name = 'Иван' order by id");
    const boxes = await client.query<{ id: string; partnerId: string }>(
      'select id, partner_id as "partnerId" from boxes order by id',
    );
    return { userIds: users.rows.map(({ id }) => id), boxes: boxes.rows };
  } finally {
    await client.end();
  }
}
