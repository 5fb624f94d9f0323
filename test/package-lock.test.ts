import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { z } from "zod";

const Lockfile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      optional: z.boolean().optional(),
      os: z.array(z.string()).optional(),
      cpu: z.array(z.string()).optional(),
    }),
  ),
});

const { packages } = Lockfile.parse(
  JSON.parse(await readFile(new URL("../package-lock.json", import.meta.url), "utf8")),
);
/** The project itself is the entry without a name. */
const installed = Object.entries(packages).filter(([name]) => name !== "");
const namesOf = (entries: [string, unknown][]) => entries.map(([name]) => name);

/** Builds for other systems, such as macOS: the registry with which the lockfile was last written may lack them. */
const isForOtherSystems = ({ optional, os = ["linux"], cpu = ["x64"] }: (typeof packages)[string]) =>
  optional === true && !(os.includes("linux") && (cpu.includes("x64") || cpu.includes("arm64")));

test("every package that Linux on x64 or arm64 may install has a checksum", () => {
  const unchecked = installed.filter(([, { integrity }]) => integrity === undefined);
  expect(namesOf(unchecked.filter(([, entry]) => !isForOtherSystems(entry)))).toEqual([]);
});

test("packages may come from any registry: no entry names an address", () => {
  expect(namesOf(installed.filter(([, { resolved }]) => resolved !== undefined))).toEqual([]);
});
