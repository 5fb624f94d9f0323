import "./command.js";
import { runTool } from "./run-tool.js";

// `npm test`: the linter, then the tests. `npm test -- test/lib …`: only the tests under these paths, at once.

const paths = process.argv.slice(2);
const lint = paths.length > 0 ? 0 : await runTool("npm", ["run", "--silent", "lint"]);
process.exitCode = lint || (await runTool("npm", ["run", "--silent", "test:unit", "--", ...paths]));
if (paths.length === 0 && process.env["TEST_FULL"] !== "1")
  process.stdout.write(
    "Left out: plans, a browser, starts of everything, single faults and the other broker. TEST_FULL=1 npm test runs these too.\n",
  );
