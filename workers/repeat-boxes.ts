import { log } from "../lib/process/log.js";
import { sql, type Db } from "../sql/db.js";
import { inBatches } from "../sql/in-batches.js";
import { insertRepeatedBoxes, listDueRepetitions, type Repetition } from "../sql/queries/boxes.js";

/** Boxes per statement, which takes about a millisecond for each. When it fails, each is tried alone. */
const BATCH = 500;
const listAgain = inBatches((due: readonly Repetition[]) => insertRepeatedBoxes(sql, due), { most: BATCH });

/**
 * Lists up to `limit` due boxes again; returns how many it has listed. One that fails keeps no other from its turn: this rejects only
 * when none is listed.
 */
export async function repeatBoxes(db: Db, limit: number): Promise<number> {
  const due = await listDueRepetitions(db, limit);
  const failures: { boxId: string; error: unknown }[] = [];
  const outcomes = await Promise.all(
    due.map((one) =>
      listAgain(one).catch((error: unknown) => {
        failures.push({ boxId: one.boxId, error });
        return false;
      }),
    ),
  );
  const listed = outcomes.filter(Boolean).length;
  const [first] = failures;
  if (listed > 0 || !first) return listed;
  log.error({ boxes: failures.length, boxId: first.boxId }, "boxes cannot be listed again");
  throw first.error;
}
