import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "@jest/globals";
import { queueNames } from "../../lib/domain/queue-names.js";
import { contracts } from "../../queues/index.js";
import { unknownQueues } from "../../workers/start.js";

test("every queue has a handler, and its name in the configuration", () => {
  expect(contracts.map(({ queue }) => queue)).toEqual(queueNames);
  expect(unknownQueues(contracts.map(({ queue }) => queue))).toEqual([]);
  expect(unknownQueues(["nonsense"])).toEqual(["nonsense"]);
});

/** The modules that are loaded with this one; `import()` loads its module later, and types are no modules. */
async function loadedWith(file: string, found = new Set<string>()): Promise<Set<string>> {
  found.add(file);
  const imports = (await readFile(file, "utf8")).matchAll(/^(?:import|export)(?! type)[^;]*? from "(\.[^"]+)\.js";$/gm);
  for (const [, name = ""] of imports) {
    const next = `${join(dirname(file), name)}.ts`;
    if (!found.has(next)) await loadedWith(next, found);
  }
  return found;
}

test("a process loads the handlers of the queues that it serves, and only the list of tasks of others", async () => {
  const loaded = await loadedWith("workers/main.ts");
  expect(loaded).toContain("queues/push.ts");
  expect(queueNames.filter((name) => loaded.has(`workers/${name}.ts`))).toEqual(["upkeep"]);
});
