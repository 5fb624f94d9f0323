// A process with a life of the kind that its argument names; it ends when its input closes, so that it cannot outlive its test.
import { announceUp, exitOnUncaught, onStop } from "../../lib/process/lifecycle.js";

process.stdin.on("close", () => process.exit(3)).resume();

exitOnUncaught();
onStop(async () => {
  if (process.argv.includes("stuck")) await new Promise(() => undefined);
  if (process.argv.includes("clumsy")) throw new Error("something would not close");
});
// these come after those of onStop, and only in a process that goes on
for (const event of ["SIGINT", "SIGTERM", "disconnect"]) {
  process.on(event, () => process.stdout.write(`lives on after ${event}\n`));
}
process.stdin.on("data", () => {
  if (process.argv.includes("throws")) throw new Error("nobody expected this");
  if (process.argv.includes("rejects")) void Promise.reject(new Error("nobody expected this"));
});
announceUp();
