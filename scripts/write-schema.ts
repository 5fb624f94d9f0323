import "./command.js";
import { writeFile } from "node:fs/promises";
import { withMigratedDatabase } from "./migrated-database.js";
import { describeSchema, schemaPath } from "./schema.js";

await withMigratedDatabase(async (databaseUrl) => writeFile(schemaPath, await describeSchema(databaseUrl)));
