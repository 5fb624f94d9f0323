import { request } from "node:http";
import { availableParallelism } from "node:os";
import { memoryUnderLoad, type Measure } from "./chapter.js";
import { compare, type Contender } from "./compare.js";
import { authorizationOf } from "./http.js";
import { Rate, type ConversionPlan } from "./messages.js";
import type { Program } from "./program.js";
import { printGoal, printRow } from "./report.js";

export const convertImages: Measure = async (lab, _marketplace, effort) => {
  const program = await lab.start("scripts/bench/programs/images");
  const atOnce = availableParallelism();
  const convert = (name: string, how: ConversionPlan["how"]): Contender => ({
    name,
    measure: (seconds) => program.ask({ how, images: Math.ceil(seconds * 6), atOnce } satisfies ConversionPlan, Rate),
  });
  const against = convert("sharp alone, with the same settings", "sharp");
  // the worker converts in processes of their own, which costs a part
  await compare(convert("the image worker", "worker"), [{ against, atLeast: 0.9 }], effort);
};

const MB = 1_048_576;
const UPLOADS_AT_ONCE = 20;

const boundary = "bench";
const form = Buffer.concat([
  Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="receipt.pdf"\r\n` +
      "Content-Type: application/pdf\r\n\r\n%PDF-1.7\n",
  ),
  Buffer.alloc(9 * MB, 0x20),
  Buffer.from(`\r\n--${boundary}--\r\n`),
]);

const upload = (server: Program, headers: Record<string, string>) =>
  new Promise<void>((resolve, reject) => {
    const sent = request(`${server.url}/api/v1/files/upload`, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": `multipart/form-data; boundary=${boundary}`,
        "content-length": form.length,
      },
    });
    sent.once("error", reject);
    sent.once("response", (response) => {
      response.resume();
      if (response.statusCode === 201) response.once("end", resolve);
      else reject(new Error(`an upload was answered with ${response.statusCode}`));
    });
    sent.end(form);
  });

export const uploadFiles: Measure = async (lab, { userIds }, effort) => {
  const [api, bare] = await Promise.all([lab.start("api/server"), lab.start("scripts/bench/programs/bare")]);
  // in turn, since the documents of one user have a limit
  const users = await Promise.all(userIds.map(authorizationOf));
  let turn = 0;
  const uploads = (name: string, server: Program): Contender => ({
    name,
    measure: async (seconds) => {
      const start = performance.now();
      let done = 0;
      const client = async () => {
        while (performance.now() - start < seconds * 1_000) {
          await upload(server, users[(turn += 1) % users.length] ?? {});
          done += 1;
        }
      };
      await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, client));
      return { perSecond: (done * 1_000) / (performance.now() - start) };
    },
  });
  const [service, against] = [uploads("the service", api), uploads("bare Express + busboy", bare)];
  const before = api.memoryBytes();
  await compare(service, [{ against, atLeast: 0.8 }], effort);
  const most = await memoryUnderLoad(service, api, effort.seconds);
  if (before === null || most === null) return;
  const grown = most - before / 1e6;
  printRow("memory, 20 uploads at once", [
    { value: most, unit: "MB" },
    { name: "growth", value: grown, unit: "MB" },
  ]);
  const inBuffers = (UPLOADS_AT_ONCE * form.length) / 1e6;
  printGoal({ name: "growth of memory, of the files' size", value: grown / inBuffers, unit: "", sign: "≤", goal: 0.5 });
};
