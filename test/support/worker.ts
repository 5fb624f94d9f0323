// Runs `workers/main` until its input closes, so that it cannot outlive its test.
process.stdin.on("close", () => process.exit(1)).resume();

await import("../../workers/main.js");
