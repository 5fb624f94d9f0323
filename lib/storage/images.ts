import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { Writable, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { config } from "../process/config.js";

/** The source starts the source, and the compiled file the compiled one. */
const program = new URL(`./converter${extname(import.meta.url)}`, import.meta.url);
const execArgv = extname(import.meta.url) === ".ts" ? ["--import", "tsx"] : [];

const CHECK_MS = 50;
/** What /proc counts CPU time in, per second. */
const TICKS = 100;
/** A converter's memory grows with use, so it is replaced; an idle one returns its memory to the system. */
const LIFETIME_MS = 60_000;

const Converted = z.object({
  image: z.instanceof(Buffer),
  thumbnail: z.instanceof(Buffer),
  /** In pixels, upright. */
  width: z.int(),
  height: z.int(),
});
/** What a converter answers: the result, or why it cannot decode the image. */
const Answer = z.union([Converted, z.object({ refusal: z.string() })]);

export type Converted = z.output<typeof Converted>;
export type Answer = z.output<typeof Answer>;

/** The image cannot be decoded: it is broken, too large, takes too much memory or time, or is no image. */
export class UnreadableImage extends Error {
  override name = "UnreadableImage";
}

/** What the conversion of one image may take. */
interface Limits {
  megabytes: number;
  cpuSeconds: number;
  /** Until it counts as stuck. */
  seconds: number;
}

const configuredLimits: Limits = {
  megabytes: config.IMAGE_MEMORY_MB,
  cpuSeconds: config.IMAGE_SECONDS,
  // on a busy machine the CPU time may take that long
  seconds: 10 * config.IMAGE_SECONDS,
};

/** A child process that converts one image at a time. */
interface Converter {
  readonly child: ChildProcess;
  /** Aborted, with the reason, when the process has ended. */
  readonly ended: AbortSignal;
  /** Kills the process; the first reason is that of its end. */
  readonly kill: (reason: unknown) => void;
  /** It converts no further image. */
  retired: boolean;
}

const idle = new Set<Converter>();

function startConverter(): Converter {
  const child = fork(program, {
    execArgv,
    // no secrets in the memory of a process that decodes files of strangers
    env: {},
    serialization: "advanced",
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  // it ends when its channel closes, and so with this process
  child.unref();
  child.channel?.unref();
  const ended = new AbortController();
  let killedFor: unknown;
  const converter: Converter = {
    child,
    ended: ended.signal,
    kill: (reason) => {
      killedFor ??= reason;
      converter.retired = true;
      child.kill("SIGKILL");
    },
    retired: false,
  };
  const lifetime = setTimeout(() => {
    converter.retired = true;
    if (idle.has(converter)) child.kill("SIGKILL");
  }, LIFETIME_MS).unref();
  const end = (error: Error) => {
    clearTimeout(lifetime);
    idle.delete(converter);
    ended.abort(killedFor ?? error);
  };
  child.on("error", end);
  child.on("exit", (code, signal) => end(new Error(`the image converter ended with ${signal ?? `code ${code}`}`)));
  return converter;
}

/** The most memory that a process has held, in MB, and its CPU time, in s; null where the system has no /proc. */
function usageOf(pid: number | undefined) {
  try {
    const status = readFileSync(`/proc/${String(pid)}/status`, "utf8");
    const stat = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
    const [user, system] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14);
    return {
      megabytes: Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024,
      cpuSeconds: (Number(user) + Number(system)) / TICKS,
    };
  } catch {
    return null;
  }
}

/** Sends an image to a converter and returns its answer. Kills the converter at a limit, and then throws UnreadableImage. */
async function ask({ child, ended, kill }: Converter, original: Readable, limits: Limits): Promise<Answer> {
  const image = new Writable({
    write: (piece: Buffer, _encoding, written) => void child.send(piece, written),
    final: (written) => void child.send("end", written),
  });
  const before = usageOf(child.pid);
  // Checks are counted instead of time, so that the time in which this process is suspended does not count.
  let checks = 0;
  const watch = setInterval(() => {
    // nor does the time that storage takes
    if (image.writableFinished) checks += 1;
    const usage = usageOf(child.pid);
    if (usage && usage.megabytes > limits.megabytes)
      kill(new UnreadableImage(`its conversion takes more than ${limits.megabytes} MB of memory`));
    if (usage && before && usage.cpuSeconds - before.cpuSeconds > limits.cpuSeconds)
      kill(new UnreadableImage(`its conversion takes more than ${limits.cpuSeconds} s of CPU time`));
    if (checks * CHECK_MS > limits.seconds * 1_000)
      kill(new UnreadableImage(`its conversion takes longer than ${limits.seconds} s`));
  }, CHECK_MS);
  try {
    const [message] = await Promise.all([
      once(child, "message", { signal: ended }),
      pipeline(original, image, { signal: ended }),
    ]);
    return Answer.parse(message[0]);
  } catch (error) {
    kill(error);
    if (!ended.aborted) await once(ended, "abort");
    ended.throwIfAborted();
    throw error;
  } finally {
    clearInterval(watch);
  }
}

/**
 * Converts an image to a WebP of at most 2048 pixels a side and a thumbnail of at most 400: upright, first frame, without
 * metadata. Throws UnreadableImage when it cannot be decoded within the limits; another error says nothing about the image.
 */
export async function convertImage(original: Readable, limits = configuredLimits): Promise<Converted> {
  const [converter = startConverter()] = idle;
  idle.delete(converter);
  const answer = await ask(converter, original, limits);
  if (converter.retired) converter.child.kill("SIGKILL");
  else idle.add(converter);
  if ("refusal" in answer) throw new UnreadableImage(answer.refusal);
  return answer;
}
