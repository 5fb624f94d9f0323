import { mkdir, mkdtemp, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isNativeError } from "node:util/types";

const codeOf = (error: unknown): string => (isNativeError(error) && "code" in error ? String(error.code) : "");

/** Makes a folder unless it is there. */
async function makeOne(folder: string): Promise<void> {
  await mkdir(folder).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
}

/** Makes a folder and those it is in, unless they are there. Node's own recursive `mkdir` never ends in file systems such as /proc. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await makeOne(folder);
  } catch (error) {
    const parent = dirname(folder);
    if (codeOf(error) !== "ENOENT" || parent === folder) throw error;
    await makeFolder(parent);
    await makeOne(folder);
  }
}

/** Why a folder cannot be used, by the system's code. */
const faults: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "this user's quota is used up",
  ENOTDIR: "a part of the path is a file",
  ENOENT: "no folder can be made there",
  ENAMETOOLONG: "a name in the path is too long",
  ELOOP: "links in the path lead in a circle",
};

/** Why a folder could not be used, by the error that came of it. */
export const faultOf = (error: unknown): string =>
  faults[codeOf(error)] ?? (isNativeError(error) ? error.message : String(error));

/** Makes a folder that files can be written to, unless it is there; otherwise returns why it cannot be used. */
export async function folderFault(folder: string): Promise<string | null> {
  try {
    await makeFolder(resolve(folder));
    await rmdir(await mkdtemp(join(folder, "probe-")));
    return null;
  } catch (error) {
    return faultOf(error);
  }
}
