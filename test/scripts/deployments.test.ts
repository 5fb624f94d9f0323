import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { environment } from "../../lib/process/environment.js";
import { queueNames } from "../../lib/domain/queue-names.js";

const read = (name: string) => readFile(new URL(`../../${name}`, import.meta.url), "utf8");
const manifests = (await readdir("scripts/ops/kubernetes")).map((name) => `scripts/ops/kubernetes/${name}`);
/** Prettier breaks long lists into lines. */
const onOneLine = (text: string) =>
  text
    .replace(/\[\s+/g, "[")
    .replace(/,\s+\]/g, "]")
    .replace(/,\s+/g, ", ");
const texts = new Map<string, string>();
for (const name of ["Dockerfile", "compose.yaml", "fly.toml"].map((each) => `scripts/ops/${each}`).concat(manifests))
  texts.set(name, onOneLine(await read(name)));
const workers = texts.get("scripts/ops/kubernetes/workers.yaml") ?? "";

test("every container runs a process as the Procfile does", async () => {
  const processes = [...(await read("Procfile")).matchAll(/^\w+: (.+)$/gm)].map(([, command]) => command);
  const commands = [...texts.values()].flatMap((text) =>
    [...text.matchAll(/\bnode\b[^\]\n]* ?dist\/[\w/]+\.js|"node"[^\]\n]*dist\/[\w/]+\.js/g)].map(([command]) =>
      command.replaceAll(/[",]/g, ""),
    ),
  );
  expect(commands.length).toBeGreaterThan(processes.length);
  expect(commands.filter((command) => !processes.includes(command))).toEqual([]);
});

test("each queue is served by one group of workers in Kubernetes, which scales with its jobs", () => {
  const groups = [...workers.matchAll(/dist\/workers\/main\.js, ([^\]]+)\]/g)].map(([, names = ""]) =>
    names.split(", "),
  );
  expect(groups.flat().sort()).toEqual([...queueNames].sort());
  const scaled = [...workers.matchAll(/queue=~"([^"]+)"/g)].map(([, names = ""]) => names.split("|"));
  expect(scaled).toEqual(groups);
});

test("in Compose all work goes through a pooler that keeps prepared statements, and there is a way around it", () => {
  const compose = texts.get("scripts/ops/compose.yaml") ?? "";
  expect(compose).toMatch(/^ +DATABASE_URL: postgres:\S+ \S+ \S+ \S+@pgbouncer:6432\/surplus_food$/m);
  expect(compose).toMatch(/^ +DATABASE_DIRECT_URL: postgres:\S+ \S+ \S+ \S+@postgres:5432\/surplus_food$/m);
  expect(compose).toMatch(/^ +pool_mode = transaction$/m);
  expect(compose).toMatch(/^ +max_prepared_statements = [1-9]\d*$/m);
});

test("settings have the names of variables", () => {
  const settings = [...(texts.get("scripts/ops/kubernetes/settings.env") ?? "").matchAll(/^(\w+)=/gm)];
  const known = Object.keys(environment.shape);
  expect(settings.map(([, name]) => name).filter((name) => !known.includes(name ?? ""))).toEqual([]);
});

test("images are of one version each, and that of Node is the recommended one", async () => {
  const named = ["scripts/ops/Dockerfile", "scripts/ops/compose.yaml"].map((name) => texts.get(name) ?? "");
  const images = named.flatMap((text) =>
    [...text.matchAll(/^ *(?:FROM|image:) (\S+:\S+)/gm)].map(([, image = ""]) => image),
  );
  expect(images.filter((image) => !/:v?\d+\.\d+(\.\d+)?(-[a-z]+)*$/.test(image))).toEqual([]);
  const names = new Set(images.map((image) => image.split(":")[0]));
  expect(names.size).toBeGreaterThan(4);
  expect(new Set(images).size).toBe(names.size);
  const version = (await read(".nvmrc")).trim();
  expect(images.find((image) => image.startsWith("node:"))).toMatch(new RegExp(`^node:${version}\\.`));
});
