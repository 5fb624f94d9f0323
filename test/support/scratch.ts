import { mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Linux keeps this folder in memory. */
const MEMORY = "/dev/shm";
/** More than all databases of a run need. */
const ROOM_BYTES = 6 * 1024 ** 3;

/** Where tests keep their data: in memory where there is room, since short-lived databases take most of their time. */
export const scratch = (): string => process.env["TEST_SCRATCH"] ?? tmpdir();

/** Chooses that place for this process and its child processes. */
export async function chooseScratch(): Promise<void> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  process.env["TEST_SCRATCH"] ??= bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir();
}

/** Creates a new folder there. */
export const scratchFolder = (name: string): Promise<string> => mkdtemp(join(scratch(), `surplus-food-${name}-`));
