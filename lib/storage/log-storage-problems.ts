import { describeError } from "../process/describe-error.js";
import { log } from "../process/log.js";
import { files } from "./file-store.js";

/** Logs that the storage cannot be used. The process goes on all the same, as most requests and jobs need no files. */
export async function logStorageProblems(): Promise<void> {
  try {
    await files.check();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? describeError(error.cause) : undefined;
    log.error(
      { error: describeError(error), cause },
      "storage cannot be used: files cannot be uploaded or served until it can",
    );
  }
}
