import { afterAll, expect, test } from "@jest/globals";
import { enums } from "../../lib/domain/enums.js";
import { closeDatabase, sql } from "../../sql/db.js";

afterAll(closeDatabase);

const camelCase = (name: string) => name.replace(/_./g, (letter) => letter.charAt(1).toUpperCase());

test("the enums of the schema have the values of the code", async () => {
  const inSchema = await sql<{ name: string; values: string[] }[]>`
    select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder) as values
    from pg_type t
    join pg_enum e on e.enumtypid = t.oid
    where t.typnamespace = 'public'::regnamespace
    group by t.typname`;
  expect(Object.fromEntries(inSchema.map(({ name, values }) => [camelCase(name), values]))).toEqual(enums);
});
