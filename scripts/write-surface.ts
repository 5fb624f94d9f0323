import "./command.js";
import "./document-environment.js";
import { writeFile } from "node:fs/promises";
import { endpoints } from "../api/app.js";
import { openApiDocument } from "../api/http/openapi.js";
import { releasedPath, surfaceOf, type Surface } from "./lint/surface.js";

/** A place in each line, so that a review sees what has changed. */
const inLines = (places: Surface["takes"]) =>
  Object.entries(places)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, place]) => `${JSON.stringify(name)}: ${JSON.stringify(place)}`)
    .join(",\n");

const { takes, gives } = surfaceOf(openApiDocument(endpoints));
await writeFile(releasedPath, `{"takes": {\n${inLines(takes)}\n}, "gives": {\n${inLines(gives)}\n}}\n`);
process.exit();
