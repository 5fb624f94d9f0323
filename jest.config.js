/** @type {import("jest").Config} */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  testEnvironment: "<rootDir>/test/support/environment.js",
  globalSetup: "<rootDir>/test/support/global-setup.js",
  globalTeardown: "<rootDir>/test/support/global-teardown.js",
  injectGlobals: false,
  // most of a test is waiting: for Postgres, for a broker, for a process to start
  maxWorkers: 3,
  testSequencer: "<rootDir>/test/support/sequencer.js",
  testTimeout: 20_000,
  extensionsToTreatAsEsm: [".ts"],
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2022" }, module: { type: "es6" } },
    ],
  },
};
