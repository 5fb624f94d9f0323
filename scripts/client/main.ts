import "../command.js";
import "../document-environment.js";
import { writeFile } from "node:fs/promises";
import { endpoints } from "../../api/app.js";
import { openApiDocument } from "../../api/http/openapi.js";
import { buildPackage } from "./build.js";
import { generateOperations, operationsPath } from "./generate.js";

/** `npm run client`: the client for apps, from the OpenAPI document, as a package in `.client`. */

await writeFile(operationsPath, await generateOperations(openApiDocument(endpoints)));
await buildPackage(".client");
process.stdout.write(
  "The client is in .client: its README says what it does, and npm pack ./.client makes a file for npm install.\n",
);
process.exit();
