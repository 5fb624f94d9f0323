// A process that ends in the way its argument names. It also ends when its input closes, so it cannot outlive its test.
import { announceUp, exitOnUncaught, onStop } from "../../lib/process/lifecycle.js";

process.stdin.on("close", () => process.exit(3)).resume();

exitOnUncaught();
onStop(async () => {
  if (process.argv.includes("stuck")) await new Promise(() => undefined);
  if (process.argv.includes("clumsy")) throw new Error("something would not close");
});
// these run after the handlers of onStop, and only in a process that continues
for (const event of ["SIGINT", "SIGTERM", "disconnect"]) {
  process.on(event, () => process.stdout.write(`lives on after ${event}\n`));
}
process.stdin.on("data", () => {
  if (process.argv.includes("throws")) throw new Error("an unexpected error");
  if (process.argv.includes("rejects")) void Promise.reject(new Error("an unexpected error"));
});
announceUp();
