/** @type {import("jest").Config} */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  // heavy tests that cannot be scaled down run with `TEST_FULL=1` only: plans on a large database, and fault storms
  testPathIgnorePatterns:
    process.env["TEST_FULL"] === "1" ? [] : ["<rootDir>/test/scale/", "<rootDir>/test/faults/storm"],
  testEnvironment: "<rootDir>/test/support/environment.js",
  globalSetup: "<rootDir>/test/support/global-setup.js",
  globalTeardown: "<rootDir>/test/support/global-teardown.js",
  injectGlobals: false,
  // tests mostly wait: for Postgres, for a broker, for a process to start
  maxWorkers: 3,
  testSequencer: "<rootDir>/test/support/sequencer.js",
  // many times what the slowest machine needs: a test that reaches it is stuck
  testTimeout: 600_000,
  extensionsToTreatAsEsm: [".ts"],
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2022" }, module: { type: "es6" } },
    ],
  },
};
