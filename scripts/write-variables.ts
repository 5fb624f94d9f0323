import "./command.js";
import { readFile, writeFile } from "node:fs/promises";
import { pagePath, variablesExample, withVariablesTable } from "./variables.js";

await writeFile(".env.example", variablesExample());
await writeFile(pagePath, withVariablesTable(await readFile(pagePath, "utf8")));
