import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { describeError } from "../../lib/process/describe-error.js";
import { makeFolder } from "../../lib/process/folders.js";
import { parseJson } from "../../lib/process/parse-json.js";
import { Caller } from "./http.js";

// A phone gets three login codes in five minutes, so the tokens of those who log in at every run are kept in DATA_DIR.

/** Tokens by the service's address and the phone. */
const Kept = z.record(z.string(), z.object({ accessToken: z.string(), refreshToken: z.string() }));

const fileName = () => join(process.env["DATA_DIR"] ?? ".data", "logins.json");

async function readKept(): Promise<z.output<typeof Kept>> {
  const text = await readFile(fileName(), "utf8").catch(() => "");
  return Kept.safeParse(parseJson(text)).data ?? {};
}

/** Keeps tokens in a file that only this user may read. */
async function keep(name: string, { token = "", refreshToken = "" }: Caller): Promise<void> {
  const file = fileName();
  const all = { ...(await readKept()), [name]: { accessToken: token, refreshToken } };
  try {
    await makeFolder(dirname(file));
    await writeFile(`${file}.new`, JSON.stringify(all), { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    process.stderr.write(`The tokens cannot be kept, so the next run needs another code: ${describeError(error)}\n`);
  }
}

/** Lives long enough for what is about to be done. */
const LEAST_SECONDS = 300;

const Claims = z.object({ exp: z.number() });

/** How long an access token is valid, by its own claims; the service may have ended its session. */
function secondsLeft(accessToken: string): number {
  const claims = Claims.safeParse(parseJson(Buffer.from(accessToken.split(".")[1] ?? "", "base64url").toString()));
  return (claims.data?.exp ?? 0) - Date.now() / 1_000;
}

/** Signs in with the kept tokens, which it renews where they have become old, or else with a code. Says which it was. */
export async function signInAgain(
  anyone: Caller,
  phone: string,
  code: string,
): Promise<{ caller: Caller; by: "kept tokens" | "a code" }> {
  const { base } = anyone;
  const name = `${base} ${phone}`;
  const known = (await readKept())[name];
  if (known && secondsLeft(known.accessToken) > LEAST_SECONDS) {
    const caller = new Caller(base, known.accessToken, known.refreshToken);
    if ((await caller.call("GET", "/users/me", undefined, [200, 401])).status === 200)
      return { caller, by: "kept tokens" };
  }
  if (known) {
    const renewed = await anyone.renew(known.refreshToken);
    if (renewed) {
      await keep(name, renewed);
      return { caller: renewed, by: "kept tokens" };
    }
  }
  const caller = await anyone.signIn(phone, code, known?.refreshToken);
  await keep(name, caller);
  return { caller, by: "a code" };
}
