import "./command.js";
import { readFile, writeFile } from "node:fs/promises";
import { readmePath, variablesExample, withVariablesTable } from "./variables.js";

await writeFile(".env.example", variablesExample());
await writeFile(readmePath, withVariablesTable(await readFile(readmePath, "utf8")));
