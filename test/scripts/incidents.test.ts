import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";

test("each incident of the drill has a paragraph in the runbook: what is seen, where to look and what to do", async () => {
  const drill = await readFile("test/incidents/incidents.ts", "utf8");
  const paragraphs = Array.from(drill.matchAll(/^ {4}paragraph: "(.+)",$/gm), ([, name = ""]) => name);
  expect(paragraphs).toHaveLength(10);
  const runbook = await readFile("scripts/ops/runbook.md", "utf8");
  for (const name of paragraphs)
    expect(runbook).toMatch(
      new RegExp(
        `\\n### ${name}\\n\\n- \\*\\*Symptom\\.\\*\\* [^#]+\\n- \\*\\*Look\\.\\*\\* [^#]+\\n- \\*\\*Do\\.\\*\\*\\s`,
      ),
    );
});
