// Every kind of test runs with `TEST_FULL=1` and when it is named on the command line.
const leavesOut = process.env["TEST_FULL"] !== "1" && !process.argv.some((argument) => argument.startsWith("test/"));

/** @type {import("jest").Config} */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  // plans among a million orders, pages in a browser, starts of everything, faults other than those of the storm, and what runs
  // once for each broker
  testPathIgnorePatterns: leavesOut
    ? [
        "<rootDir>/test/(scale|browser|faults/(?!storm)|scripts/(demo|embedded|first|image|restore|start))",
        "\\.redis\\.test\\.ts$",
      ]
    : [],
  testEnvironment: "<rootDir>/test/support/environment.js",
  globalSetup: "<rootDir>/test/support/global-setup.js",
  globalTeardown: "<rootDir>/test/support/global-teardown.js",
  injectGlobals: false,
  // of a single file every test gets a line, also each that -t leaves out: of api/authorisation 1,700
  ...(process.argv.includes("-t") && { verbose: false }),
  // tests mostly wait: for Postgres, for a broker, for a process to start
  maxWorkers: 3,
  // a worker that has grown is replaced after its file; each file leaves some modules behind
  workerIdleMemoryLimit: "1GB",
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
