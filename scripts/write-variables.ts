import { readFile, writeFile } from "node:fs/promises";
import { variablesExample, withVariablesTable } from "./variables.js";

await writeFile(".env.example", variablesExample());
await writeFile("README.md", withVariablesTable(await readFile("README.md", "utf8")));
