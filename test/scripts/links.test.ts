import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "@jest/globals";

const folders = [".", ".github", "api", "lib", "queues", "scripts", "sql", "test", "workers"];
const found = await Promise.all(
  folders.map(async (folder) =>
    (await readdir(folder, { recursive: folder !== "." })).map((name) => normalize(join(folder, name))),
  ),
);
const files = new Set(found.flat());
const pages = await Promise.all(
  [...files].filter((file) => file.endsWith(".md")).map(async (file) => ({ file, text: await readFile(file, "utf8") })),
);

/** The anchors of a page's headings, as GitHub makes them. */
const anchors = new Map(
  pages.map(({ file, text }) => [
    file,
    Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  ]),
);

test("each link between the pages leads to a file, and to a heading in it", () => {
  const broken = pages.flatMap(({ file, text }) =>
    Array.from(text.matchAll(/\]\((?!https?:|mailto:|\/)([^)#\s]*)(?:#([^)\s]+))?\)/g))
      .filter(([, path = "", anchor]) => {
        const target = path === "" ? file : normalize(join(dirname(file), path)).replace(/\/$/, "");
        return !files.has(target) || (anchor !== undefined && !anchors.get(target)?.includes(anchor));
      })
      .map(([link]) => `${file}: ${link}`),
  );
  expect(broken).toEqual([]);
});
