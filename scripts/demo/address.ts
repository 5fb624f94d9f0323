/** Whether a process of this service answers at an address. */
async function answers(address: string): Promise<boolean> {
  const health = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  return health?.ok === true && (await health.text()).includes('"status":"ok"');
}

/**
 * Finds the running service: at PUBLIC_URL or PORT, where `npm start` last listened, or at its usual port. Throws an Error that
 * names all of these when none answers.
 */
export async function findService(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { PUBLIC_URL, PORT = "0", LOCAL_URL } = env;
  const port = PORT === "0" ? undefined : `http://localhost:${PORT}`;
  const places = [PUBLIC_URL?.replace(/\/$/, ""), port, LOCAL_URL, "http://localhost:3000"].filter(Boolean);
  const known = new Set(places.filter((place) => place !== undefined));
  for (const place of known) if (await answers(place)) return place;
  throw new Error(`no service answers at ${[...known].join(", ")}`);
}
