import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { runTool } from "../run-tool.js";

const Project = z.object({
  version: z.string(),
  license: z.string(),
  engines: z.object({ node: z.string() }),
  devDependencies: z.object({ "@oazapfts/runtime": z.string() }),
});

/** Builds the client as a package in an empty `folder`: modules, types, README and licence. Throws when it does not compile. */
export async function buildPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const code = await runTool("tsc", ["-p", "scripts/client/tsconfig.build.json", "--outDir", folder]);
  if (code !== 0) throw new Error("the client does not compile");
  const { version, license, engines, devDependencies } = Project.parse(
    JSON.parse(await readFile("package.json", "utf8")),
  );
  const description = {
    name: "surplus-food-client",
    version,
    description: "The typed client of the surplus-food marketplace's API.",
    license,
    type: "module",
    sideEffects: false,
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
    engines,
    dependencies: { "@oazapfts/runtime": devDependencies["@oazapfts/runtime"] },
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);
  await cp("scripts/client/README.md", join(folder, "README.md"));
  await cp("LICENSE", join(folder, "LICENSE"));
}
