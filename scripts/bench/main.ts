import "../command.js";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { chapters } from "./chapters.js";
import { print, type Effort } from "./compare.js";
import { CLIENTS } from "./http.js";
import { withLab } from "./lab.js";
import { seedMarketplace } from "./marketplace.js";

/** `npm run bench -- [--quick] [chapter…]`: compares the service with the libraries it is built on, side by side. */

const full: Effort = { rounds: 5, seconds: 4, warmUpSeconds: 3, samples: 250 };
const quick: Effort = { rounds: 3, seconds: 1, warmUpSeconds: 1, samples: 50 };

const { values, positionals } = parseArgs({ allowPositionals: true, options: { quick: { type: "boolean" } } });
const names = positionals.length > 0 ? positionals : Object.keys(chapters);
const unknown = names.filter((name) => !(name in chapters));
if (unknown.length > 0) {
  print(`There is no chapter ${unknown.join(", ")}. There are: ${Object.keys(chapters).join(", ")}.`);
  process.exit(1);
}

const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());

try {
  print(`Node ${process.version}, ${availableParallelism()} cores, ${CLIENTS} clients; medians of alternating rounds.`);
  await withLab(stopping.signal, async (lab) => {
    const marketplace = await seedMarketplace(lab.databaseUrl);
    for (const name of names) {
      const chapter = chapters[name];
      if (!chapter) continue;
      print(`\n${chapter.title} (${name})`);
      await chapter.measure(lab, marketplace, values.quick ? quick : full);
      await lab.stopPrograms();
    }
  });
} catch (error) {
  process.stderr.write(`${stopping.signal.aborted ? "Stopped." : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
