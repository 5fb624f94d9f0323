import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Readable } from "node:stream";
import { expect, test } from "@jest/globals";
import { readHeader } from "../../lib/menu-csv/menu-csv.js";
import { readBatches } from "../../lib/menu-csv/menu-csv-batches.js";

const folder = fileURLToPath(new URL("../../scripts/demo/menus", import.meta.url));

test.each(readdirSync(folder))("the menu %s is imported completely", async (name) => {
  const file = readFileSync(join(folder, name));
  const from = readHeader(file);
  const batches = readBatches(Readable.from([file.subarray(from.position)]), { from, maxRows: 100, batchRows: 100 });
  for (let next = await batches.next(); ; next = await batches.next()) {
    if (next.done) {
      expect(next.value).toEqual({ complete: true });
      break;
    }
    const { rows, rejected } = next.value;
    expect([rows.length > 9, rejected]).toEqual([true, []]);
    // no item is free
    expect(rows.filter(({ priceMinor }) => priceMinor < 50)).toEqual([]);
  }
});
